// What may not be seen changes no bit of a gradient; what may be seen reaches only whom it concerns.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/attention_backward_testing.h"
#include "tests/attention_sight.h"

namespace qkv {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class GradientPoison : public testing::TestWithParam<const char*> {
 protected:
  static check::Case masked(const char* mask) { return masked_case(mask, std::string(" backward") + GetParam()); }
};

TEST_P(GradientPoison, in_what_nobody_sees_changes_no_bit) {
  int filled = 0;
  for (const char* mask : kMasks) {
    check::Case c = masked(mask);
    const check::Case clean = masked(mask);
    for (const Target target : available_targets()) {
      const RanBackward want = run_backward(clean, on(target));
      for (const double poison : kPoisons) {
        filled += poison_unseen(c, poison);
        EXPECT_EQ(run_backward(c, on(target)).bits(), want.bits())
            << format(c.problem) << " on " << to_string(target) << ", " << poison;
      }
    }
  }
  EXPECT_GT(filled, 1000);  // the masks do hide keys
}

// Rows of dq that do not see key (b, kv_head, j), and rows of dk and dv that no query sees that sees it, keep every
// bit.
void expect_others_untouched(const check::Case& clean, const check::Case& poisoned, std::int64_t b,
                             std::int64_t kv_head, std::int64_t j) {
  const Sight sight(clean);
  const AttentionShape& shape = sight.shape();
  for (const Target target : available_targets()) {
    const RanBackward want = run_backward(clean, on(target));
    const RanBackward got = run_backward(poisoned, on(target));
    const auto row = [&](const check::Placed& placed, std::int64_t rb, std::int64_t head, std::int64_t at) {
      View<void> view = placed.view;
      const std::int64_t offset = rb * view.strides[0] + head * view.strides[1] + at * view.strides[2];
      view.data = static_cast<char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
      view.shape = {1, 1, 1, view.shape[3]};
      return bits_of(view);
    };
    const std::string where = format(clean.problem) + " on " + std::string(to_string(target));
    for (std::int64_t rb = 0; rb < shape.batch; ++rb)
      for (std::int64_t h = 0; h < shape.query_heads; ++h)
        for (std::int64_t i = 0; i < shape.query_length; ++i) {
          if (rb == b && h / shape.group() == kv_head && sight.sees(rb, h, i, j)) continue;
          EXPECT_EQ(row(got.gradients.dq, rb, h, i), row(want.gradients.dq, rb, h, i))
              << where << ": dq " << rb << "," << h << "," << i << " changed by key " << j;
        }
    for (std::int64_t rb = 0; rb < shape.batch; ++rb)
      for (std::int64_t head = 0; head < shape.kv_heads; ++head)
        for (std::int64_t other = 0; other < shape.key_length; ++other) {
          bool concerned = false;  // by a query that sees both
          for (std::int64_t h = head * shape.group(); rb == b && head == kv_head && h < (head + 1) * shape.group(); ++h)
            for (std::int64_t i = 0; i < shape.query_length; ++i)
              concerned |= sight.sees(rb, h, i, j) && sight.sees(rb, h, i, other);
          if (concerned) continue;
          EXPECT_EQ(row(got.gradients.dk, rb, head, other), row(want.gradients.dk, rb, head, other))
              << where << ": dk " << rb << "," << head << "," << other << " changed by key " << j;
          EXPECT_EQ(row(got.gradients.dv, rb, head, other), row(want.gradients.dv, rb, head, other))
              << where << ": dv " << rb << "," << head << "," << other << " changed by key " << j;
        }
  }
}

TEST_P(GradientPoison, that_is_seen_reaches_only_whom_it_concerns) {
  for (const char* mask : kMasks)
    for (const double poison : {kNan, kInf, -kInf})
      for (const std::int64_t j : {0, 2, 37}) {
        const check::Case clean = masked(mask);
        if (j >= clean.problem.key_length) continue;
        const check::Case key = masked(mask);
        fill_row(key.k.view, 1, 0, j, poison);
        expect_others_untouched(clean, key, 1, 0, j);
        const check::Case value = masked(mask);
        fill_row(value.v.view, 1, 0, j, poison);
        expect_others_untouched(clean, value, 1, 0, j);
      }
}

// A query's row of q or do that is not finite reaches its own dq and the keys that it sees.
TEST_P(GradientPoison, in_a_query_reaches_only_what_it_sees) {
  for (const char* mask : {"T49x70 causal=top_left", "T49x130 lengths=0,65 causal=bottom_right",
                           "T5x3 causal=bottom_right", "T49x70 keep=49x70 softcap=3", "T49x70 bias=49x70"})
    for (const double poison : {kNan, kInf, -kInf})
      for (const bool in_q : {true, false}) {
        const check::Case clean = masked(mask);
        const check::Case poisoned = masked(mask);
        constexpr std::int64_t kBatch = 1, kHead = 2, kQuery = 3;
        fill_row(in_q ? poisoned.q.view : poisoned.d_o.view, kBatch, kHead, kQuery, poison);
        const Sight sight(clean);
        for (const Target target : available_targets()) {
          const RanBackward want = run_backward(clean, on(target));
          const RanBackward got = run_backward(poisoned, on(target));
          const auto compare = [&](const check::Placed& a, const check::Placed& b, const auto& may_differ) {
            std::int64_t element = 0;
            const std::int64_t width = a.view.shape[3], length = a.view.shape[2], heads = a.view.shape[1];
            for_each_element(a.view.shape, a.view.strides, [&](std::int64_t at) {
              const std::int64_t r = element++ / width;
              if (may_differ(r / length / heads, r / length % heads, r % length)) return;
              EXPECT_EQ(element_as_double(a.view, at), element_as_double(b.view, at))
                  << format(clean.problem) << " on " << to_string(target) << " " << poison << " in_q " << in_q
                  << " row " << r;
            });
          };
          const auto own = [&](std::int64_t b, std::int64_t h, std::int64_t i) {
            return b == kBatch && h == kHead && i == kQuery;
          };
          const auto seen = [&](std::int64_t b, std::int64_t head, std::int64_t j) {
            return b == kBatch && head == kHead / 2 && sight.sees(kBatch, kHead, kQuery, j);
          };
          compare(got.gradients.dq, want.gradients.dq, own);
          compare(got.gradients.dk, want.gradients.dk, seen);
          compare(got.gradients.dv, want.gradients.dv, seen);
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Types, GradientPoison, testing::Values(" f32", " f64", " bf16", " f16"),
                         [](const auto& type) { return std::string(type.param).substr(1); });

TEST(GradientEmptyRows, have_the_gradient_0_whatever_their_query_holds) {
  for (const char* line : {"attention H2 T7x5 D3 causal=bottom_right backward dlse",
                           "attention H2 T70x5 D3 causal=bottom_right backward bias=70x5",
                           "attention H2 T60x50 D3 corner=offset:100 window=2,2 backward"}) {
    check::Case c = case_of(line);
    const Sight sight(c);
    const AttentionShape& shape = sight.shape();
    const auto is_empty = [&](std::int64_t h, std::int64_t i) {
      for (std::int64_t j = 0; j < shape.key_length; ++j)
        if (sight.sees(0, h, i, j)) return false;
      return true;
    };
    for (const double value : {1.0, kNan, kInf}) {
      int empty = 0;
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t i = 0; i < shape.query_length; ++i) {
          if (!is_empty(h, i)) continue;
          ++empty;
          fill_row(c.q.view, 0, h, i, value);
          fill_row(c.d_o.view, 0, h, i, value);
        }
      EXPECT_GT(empty, 0) << line;
      for (const Target target : available_targets()) {
        const RanBackward ran = run_backward(c, on(target));
        std::int64_t element = 0;
        for_each_element(ran.gradients.dq.view.shape, ran.gradients.dq.view.strides, [&](std::int64_t at) {
          const std::int64_t row = element++ / shape.width;
          const double dq = element_as_double(ran.gradients.dq.view, at);
          if (is_empty(row / shape.query_length, row % shape.query_length))
            EXPECT_EQ(dq, 0) << line << " on " << to_string(target) << ", " << value;
          else
            EXPECT_TRUE(std::isfinite(dq)) << line << " on " << to_string(target) << ", " << value;
        });
        for (const check::Placed* one : {&ran.gradients.dk, &ran.gradients.dv})
          for_each_element(one->view.shape, one->view.strides, [&](std::int64_t at) {
            EXPECT_TRUE(std::isfinite(element_as_double(one->view, at)))
                << line << " on " << to_string(target) << ", " << value;
          });
      }
    }
  }
}

TEST(GradientInfinity, a_score_of_minus_infinity_weighs_nothing) {
  for (const std::string mask : {"", " causal=top_left", " keep=3x70"}) {
    check::Case c = case_of("attention T3x70 D1 backward" + mask);
    for (std::int64_t j = 0; j < 70; ++j) set_element(c.k.view, j, j == 40 ? 1.0 : -1.0);
    set_element(c.q.view, 0, kInf);  // sees only −inf
    set_element(c.k.view, 40, -1.0);
    expect_right_gradients(c);
  }
}

}  // namespace
}  // namespace qkv
