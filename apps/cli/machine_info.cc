// Linux's sysfs and procfs, read as text.
#include "apps/cli/machine_info.h"

#include <cstdlib>
#include <fstream>

namespace qkv::cli {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K" "2M" "64"
std::int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (*end == 'K') return number << 10;
  if (*end == 'M') return number << 20;
  return number;
}

}  // namespace

std::vector<CacheInfo> cache_sizes(const std::string& folder) {
  std::vector<CacheInfo> caches;
  for (int index = 0;; ++index) {
    const std::string entry = folder + "/index" + std::to_string(index) + "/";
    const std::string size = first_line(entry + "size");
    if (size.empty()) return caches;
    caches.push_back({static_cast<int>(parse_size(first_line(entry + "level"))), first_line(entry + "type"),
                      parse_size(size), parse_size(first_line(entry + "coherency_line_size"))});
  }
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (const std::size_t colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

}  // namespace qkv::cli
