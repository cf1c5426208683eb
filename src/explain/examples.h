// The lesson's examples, compiled into the library.
#ifndef QKV_SRC_EXPLAIN_EXAMPLES_H_
#define QKV_SRC_EXPLAIN_EXAMPLES_H_

#include <string_view>
#include <vector>

namespace qkv {

struct Example {
  std::string_view name;  // "bank"
  std::string_view text;  // the file examples/<name>.json
};

const std::vector<Example>& examples();

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_EXAMPLES_H_
