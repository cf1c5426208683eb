// ELF headers, and names that are nearly right.
#include "src/check/library/library_file.h"

#include <elf.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "src/check/library/child_program.h"
#include "src/core/did_you_mean.h"

namespace qkv::check {
namespace {

constexpr std::size_t kNamesShown = 8;
// Class, byte order, type and machine stand at the same bytes in 32- and in 64-bit files.
constexpr std::size_t kHeaderBytes = 20, kTypeAt = 16, kMachineAt = 18;

struct Machine {
  unsigned number;
  std::string_view name;
};
constexpr Machine kMachines[] = {{EM_386, "x86"},         {EM_X86_64, "x86-64"}, {EM_ARM, "ARM"},
                                 {EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},
                                 {EM_S390, "S/390"}};

struct Header {
  unsigned bits = 0, type = 0, machine = 0;
  bool operator==(const Header&) const = default;
};

Header header_of(std::string_view bytes) {
  const auto at = [&](std::size_t place) { return static_cast<unsigned char>(bytes[place]); };
  const bool is_big = at(EI_DATA) == ELFDATA2MSB;
  const auto pair = [&](std::size_t place) {
    return static_cast<unsigned>(is_big ? at(place) << 8 | at(place + 1) : at(place + 1) << 8 | at(place));
  };
  return {at(EI_CLASS) == ELFCLASS32 ? 32U : 64U, pair(kTypeAt), pair(kMachineAt)};
}

std::string machine_words(const Header& header) {
  std::string name = "machine number " + std::to_string(header.machine);
  for (const Machine& machine : kMachines)
    if (machine.number == header.machine) name = machine.name;
  return name + " (" + std::to_string(header.bits) + " bit)";
}

// What a file is that is no ELF file, as far as its first bytes tell.
std::string kind_of(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  if (bytes.starts_with("!<arch>")) return "an archive of object files (link it with -shared)";
  if (bytes.starts_with("MZ")) return "a file for Windows";
  if (bytes.starts_with("\xCF\xFA\xED\xFE") || bytes.starts_with("\xCA\xFE\xBA\xBE")) return "a file for macOS";
  if (bytes.starts_with("#!")) return "a script";
  return "another kind of file";
}

}  // namespace

Status check_library_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return io_error("there is no file " + path);
  if (!std::filesystem::is_regular_file(status)) return invalid_argument(path + " is no file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error(path + " cannot be read: " + std::strerror(errno));
  std::array<char, kHeaderBytes> buffer;
  file.read(buffer.data(), buffer.size());
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(file.gcount()));
  if (!bytes.starts_with(ELFMAG) || bytes.size() < kHeaderBytes)
    return invalid_argument(path + " is no shared library but " + kind_of(bytes));
  const Header found = header_of(bytes), ours = header_of(child_program());
  if (found.bits != ours.bits || found.machine != ours.machine)
    return unsupported(path + " is for " + machine_words(found) + ", and this program is for " + machine_words(ours));
  if (found.type == ET_REL) return invalid_argument(path + " is an object file: link it with -shared");
  if (found.type != ET_DYN) return invalid_argument(path + " is no shared library but a program");
  return {};
}

Status missing_symbol(const std::string& path, const std::string& symbol, const std::string& exported) {
  std::vector<std::string> names;
  std::istringstream lines(exported);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) list += " ...";
  if (names.empty()) return invalid_argument(path + " exports no function at all");
  if (symbol.empty())
    return invalid_argument("name the function, as " + path + ":" + names.front() + "; there are " + list);
  const std::string begin = path + " has no function " + quote(symbol);
  // C++ writes the name with its length in front.
  const std::string mangled = std::to_string(symbol.size()) + symbol;
  for (const std::string& name : names)
    if (name.starts_with("_Z") && name.find(mangled) != std::string::npos)
      return invalid_argument(begin + " with C linkage, but " + quote(name) + ": declare it extern \"C\"");
  const std::string hint = did_you_mean(symbol, names);
  return invalid_argument(begin + (hint.empty() ? "; it exports " + list : hint));
}

}  // namespace qkv::check
