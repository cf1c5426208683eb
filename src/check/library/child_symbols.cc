// Reads the dynamic symbol table as the loader has mapped it.
#include "src/check/library/child_symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>

namespace qkv::check {
namespace {

// How many symbols a GNU hash table reaches: the end of the chain that begins last.
std::uint32_t count_of_gnu_hash(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0], first = table[1], bloom_words = table[2];
  const std::uint32_t* bucket = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
  if (last < first) return first;
  while ((chain[last - first] & 1U) == 0) ++last;
  return last + 1;
}

}  // namespace

std::string exported_functions(void* library) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return "";
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::uint32_t count = 0;
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader's addresses are numbers
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) count = count_of_gnu_hash(reinterpret_cast<const std::uint32_t*>(address));
    if (entry->d_tag == DT_HASH) count = reinterpret_cast<const std::uint32_t*>(address)[1];
  }
  // NOLINTEND(performance-no-int-to-ptr)
  if (symbols == nullptr || names == nullptr) return "";
  std::string list;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ElfW(Sym)& symbol = symbols[i];
    const std::string name = names + symbol.st_name;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || name.empty()) continue;
    if (name != "_init" && name != "_fini") list += name + "\n";
  }
  return list;
}

}  // namespace qkv::check
