// Rows computed again from captured tensors, under every mask that depends on where a row stands.
#include "src/survey/self_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

// The rows [B,Hq,R,Dv] of o.
struct Rows {
  Rows(View<const void> o, const std::vector<std::int64_t>& rows)
      : shape{o.shape[0], o.shape[1], static_cast<std::int64_t>(rows.size()), o.shape[3]} {
    for (std::int64_t b = 0; b < o.shape[0]; ++b)
      for (std::int64_t h = 0; h < o.shape[1]; ++h)
        for (const std::int64_t row : rows)
          for (std::int64_t c = 0; c < o.shape[3]; ++c)
            values.push_back(
                element_as_double(o, b * o.strides[0] + h * o.strides[1] + row * o.strides[2] + c * o.strides[3]));
  }
  View<const void> view() const { return View<const double>(values.data(), shape); }
  Dims shape;
  std::vector<double> values;
};

// Of all heads.
double worst_difference(const AttentionInputs& inputs, const View<const void>& o, const std::vector<std::int64_t>& rows,
                        const AttentionOptions& options = {}) {
  return std::ranges::max(must(worst_differences(inputs, o, rows, options)));
}

TEST(SelfCheck, finds_no_difference_where_there_is_none) {
  for (const char* rest :
       {"", " causal=top_left", " causal=bottom_right", " causal=offset:3", " window=5,2 corner=bottom_right",
        " lengths=50,20", " lengths=50,20 causal=bottom_right", " keep=20x50", " keep=2x1x1x50", " key_mask",
        " bias=6x20x50", " bias=20x1", " slopes corner=bottom_right", " sinks", " softcap=2 scale=3"}) {
    const std::string line = "attention B2 H6/2 T20x50 D8/5" + std::string(rest);
    const check::Case c = case_of(line);
    const std::vector<std::int64_t> rows = {0, 7, 19};
    const Rows o(run_case(c, {}).outputs.o.view, rows);
    EXPECT_LT(worst_difference(c.inputs(), o.view(), rows, c.options()), 1e-6) << line;
  }
  const check::Case packed = case_of("attention H2 T30x40 D8 cu_q=0,10,10,30 cu_k=0,20,20,40 causal=bottom_right");
  const std::vector<std::int64_t> rows = {3, 12, 29};
  const Rows o(run_case(packed, {}).outputs.o.view, rows);
  EXPECT_LT(worst_difference(packed.inputs(), o.view(), rows, packed.options()), 1e-6);
}

TEST(SelfCheck, finds_a_term_that_was_forgotten) {
  for (const char* term :
       {"causal=top_left", "window=5,2", "keep=20x20", "key_mask", "bias=20x20", "slopes", "sinks", "softcap=1"}) {
    const check::Case with = case_of("attention H2 T20 D8 " + std::string(term));
    const check::Case without = case_of("attention H2 T20 D8");
    const std::vector<std::int64_t> rows = {1, 18};
    const Rows o(run_case(with, {}).outputs.o.view, rows);
    EXPECT_GT(worst_difference(with.inputs(), o.view(), rows, without.options()), 1e-3) << term;
  }
}

TEST(SelfCheck, nan_beside_nan_is_no_difference_and_beside_a_number_infinite) {
  const check::Case c = case_of("attention H1 T3 D2");
  const std::vector<std::int64_t> rows = {0, 1, 2};
  Rows o(run_case(c, {}).outputs.o.view, rows);
  o.values[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(worst_difference(c.inputs(), o.view(), rows), std::numeric_limits<double>::infinity());
}

TEST(SelfCheck, says_which_head_differs) {
  const check::Case c = case_of("attention B2 H3 T4 D2");
  const std::vector<std::int64_t> rows = {1, 2};
  Rows o(run_case(c, {}).outputs.o.view, rows);
  o.values[(1 * 3 + 2) * 2 * 2 + 1] += 0.5;
  const std::vector<double> found = must(worst_differences(c.inputs(), o.view(), rows));
  for (std::size_t head = 0; head < 6; ++head) EXPECT_NEAR(found[head], head == 5 ? 0.5 : 0, 1e-6);
}

TEST(SelfCheck, refuses_rows_that_are_not_there) {
  const check::Case c = case_of("attention H1 T3 D2");
  const Rows o(run_case(c, {}).outputs.o.view, {0});
  EXPECT_EQ(worst_differences(c.inputs(), o.view(), std::vector<std::int64_t>{3}).status().message(),
            "survey: row 3 is none of 3 queries");
  EXPECT_EQ(worst_differences(c.inputs(), o.view(), std::vector<std::int64_t>{0, 1}).status().message(),
            "survey: o is [1,1,1,2] f64; expected [1,1,2,2] of a floating type");
}

}  // namespace
}  // namespace qkv
