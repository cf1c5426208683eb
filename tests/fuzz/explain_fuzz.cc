// Requests to explain: each is answered with a document or a message, whatever it holds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "qkv/explain.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static_cast<void>(qkv::explain(std::string_view(reinterpret_cast<const char*>(bytes), count)).is_ok());
  return 0;
}
