// A short text that reads back as the same double.
#ifndef QKV_SRC_CORE_SHORTEST_H_
#define QKV_SRC_CORE_SHORTEST_H_

#include <charconv>
#include <string>

namespace qkv {

// The fewest digits; with an exponent from 2^53 on, where digits would stand that say nothing.
inline std::string shortest(double value) {
  char text[32];  // the longest is 24: -2.2250738585072014e-308
  constexpr double kExact = 0x1p53;
  const bool large = value >= kExact || value <= -kExact;
  const std::to_chars_result written =
      large ? std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific)
            : std::to_chars(text, text + sizeof(text), value);
  return {text, written.ptr};
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_SHORTEST_H_
