// What the operating system says of this machine's caches and processor.
#ifndef QKV_APPS_CLI_MACHINE_INFO_H_
#define QKV_APPS_CLI_MACHINE_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace qkv::cli {

struct CacheInfo {
  int level = 0;
  std::string type;  // "Data" "Instruction" "Unified"
  std::int64_t bytes = 0;
  std::int64_t line_bytes = 0;
};

// The caches that the first CPU sees, in `folder` (Linux: /sys/devices/system/cpu/cpu0/cache). Empty where the system
// does not tell.
std::vector<CacheInfo> cache_sizes(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

// "Intel(R) Xeon(R) ...", from /proc/cpuinfo; "unknown" where the system does not tell.
std::string processor_name();

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_MACHINE_INFO_H_
