// Lines that claim to be a problem: what is accepted must come back from its own text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qkv/problem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const qkv::Result<qkv::Problem> problem =
      qkv::parse_problem(std::string_view(reinterpret_cast<const char*>(bytes), count));
  if (!problem.is_ok()) return 0;
  const qkv::Result<qkv::Problem> again = qkv::parse_problem(qkv::format(*problem));
  if (!again.is_ok() || !(*again == *problem)) std::abort();
  return 0;
}
