// Text that claims to be JSON, as explain reads it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/explain/json_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static_cast<void>(qkv::read_json(std::string_view(reinterpret_cast<const char*>(bytes), count)).is_ok());
  return 0;
}
