// Who sees which key, and values that must not be seen: what the poison tests share.
#ifndef QKV_TESTS_ATTENTION_SIGHT_H_
#define QKV_TESTS_ATTENTION_SIGHT_H_

#include <cstdint>
#include <limits>
#include <string>

#include "src/core/check_attention.h"
#include "src/ops/attention/attention_ref_rules.h"
#include "tests/attention_testing.h"

namespace qkv {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kPoisons[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 1e30};

inline const char* const kMasks[] = {
    "T49x70 causal=top_left",
    "T49x70 causal=bottom_right",
    "T70x49 causal=bottom_right",
    "T49x70 corner=top_left window=3,2",
    "T49x140 corner=offset:70 window=5,5",
    "T49x70 key_mask",
    "T49x70 keep=70",
    "T49x70 keep=49x70",
    "T49x70 keep=2x1x1x70 causal=top_left",
    "T49x70 lengths=13,64",
    "T49x130 lengths=0,65 causal=bottom_right",
    "T49x70 bias=70",
    "T49x70 bias=49x70 softcap=2",
    "T49x70 lengths=40,70 sinks slopes corner=bottom_right",
    "T3x5 causal=top_left",
    "T5x3 causal=bottom_right",
    "T1x200 lengths=1,150",
};

inline check::Case masked_case(const std::string& words, const std::string& type) {
  check::GenerateOptions options;
  options.hidden_bias = 0.3;
  return case_of("attention B2 H4/2 D9/7 " + words + type, options);
}

// Which (b, h, i) see key j.
class Sight {
 public:
  explicit Sight(const check::Case& c)
      : options_(c.options()),
        shape_(must(check_attention(c.inputs(), options_, TypeRule::kSameType), format(c.problem))) {}
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return reference::RowRules(shape_, options_, {b, h, i}).allowed(j);
  }
  bool anybody_sees(std::int64_t b, std::int64_t kv_head, std::int64_t j) const {
    for (std::int64_t h = kv_head * shape_.group(); h < (kv_head + 1) * shape_.group(); ++h)
      for (std::int64_t i = 0; i < shape_.query_length; ++i)
        if (sees(b, h, i, j)) return true;
    return false;
  }
  const AttentionShape& shape() const { return shape_; }

 private:
  AttentionOptions options_;
  AttentionShape shape_;
};

// Overwrites row j of a KV tensor.
inline void fill_row(View<void> view, std::int64_t b, std::int64_t head, std::int64_t j, double value) {
  const std::int64_t row = b * view.strides[0] + head * view.strides[1] + j * view.strides[2];
  for (std::int64_t c = 0; c < view.shape[3]; ++c) set_element(view, row + c * view.strides[3], value);
}

// Fills every key and value that nobody sees; answers how many.
inline int poison_unseen(check::Case& c, double value) {
  const Sight sight(c);
  int filled = 0;
  for (std::int64_t b = 0; b < sight.shape().batch; ++b)
    for (std::int64_t head = 0; head < sight.shape().kv_heads; ++head)
      for (std::int64_t j = 0; j < sight.shape().key_length; ++j) {
        if (sight.anybody_sees(b, head, j)) continue;
        fill_row(c.k.view, b, head, j, value);
        fill_row(c.v.view, b, head, j, value);
        ++filled;
      }
  return filled;
}

}  // namespace qkv

#endif  // QKV_TESTS_ATTENTION_SIGHT_H_
