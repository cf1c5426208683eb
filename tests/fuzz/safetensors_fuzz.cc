// Bytes that claim to be safetensors files: a header in JSON and what it says of the bytes behind it.
#include "tests/fuzz/file_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  qkv::fuzz::read_file(bytes, count);
  return 0;
}
