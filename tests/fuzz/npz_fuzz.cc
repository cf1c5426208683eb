// Bytes that claim to be npz files: zip archives of npy arrays, stored or deflated.
#include "tests/fuzz/file_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  qkv::fuzz::read_file(bytes, count);
  return 0;
}
