// The shortest text that reads back as the same double.
#ifndef QKV_SRC_CORE_SHORTEST_H_
#define QKV_SRC_CORE_SHORTEST_H_

#include <charconv>
#include <string>

namespace qkv {

inline std::string shortest(double value) {
  char text[32];  // the longest is 24: -2.2250738585072014e-308
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_SHORTEST_H_
