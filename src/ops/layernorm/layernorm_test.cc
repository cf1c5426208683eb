// LayerNorm and its gradient on every target, held to float64; every type, stride and odd width.
#include "src/ops/layernorm/layernorm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "src/check/plain_layer.h"
#include "tests/layer_testing.h"

namespace qkv {
namespace {

using check::Placed;
using check::Placement;

struct Form {
  DType dtype = DType::kF32;
  DType output = DType::kF32;
  DType weights = DType::kF32;
  Placement placement = {};
  double eps = 1e-5;
};

void expect_right(const Dims& shape, const Form& form) {
  const Placed x = random_tensor(form.dtype, shape, 1, form.placement);
  const Placed du = random_tensor(form.dtype, shape, 2, form.placement);
  const Placed gamma = random_tensor(form.weights, {shape[2]}, 3), beta = random_tensor(form.weights, {shape[2]}, 4);
  for (const bool weighted : {true, false}) {
    const LayerNormWeights weights{weighted ? gamma.view : View<void>(), weighted ? beta.view : View<void>(), form.eps};
    const reference::LayerNormParameters p{weights.gamma, weights.beta, form.eps};
    const auto want = must(reference::layernorm_forward(x.view, p));
    const auto gradients = must(reference::layernorm_backward(x.view, du.view, p));
    const Tensor plain = must(check::plain_layernorm_forward(x.view, p, form.output));
    const auto plains = must(check::plain_layernorm_backward(x.view, du.view, p, form.output));
    for (const Target target : available_targets()) {
      const std::string name =
          to_string(shape) + " " + std::string(to_string(form.dtype)) + " on " + std::string(to_string(target));
      Placed u = empty_tensor(form.output, shape), dx = empty_tensor(form.output, shape);
      Placed dgamma = empty_tensor(form.output, {shape[2]}), dbeta = empty_tensor(form.output, {shape[2]});
      EXPECT_EQ(must(layernorm_forward(x.view, weights, u.view, on(target)), name).target, target);
      expect_within(name + " u", u, want.u, plain, Yardstick::kForward);
      must(layernorm_backward(x.view, du.view, weights, {dx.view, dgamma.view, dbeta.view}, on(target)), name);
      expect_within(name + " dx", dx, gradients.dx, plains.dx, Yardstick::kGradient);
      expect_within(name + " dgamma", dgamma, gradients.dgamma, plains.dgamma, Yardstick::kGradient);
      expect_within(name + " dbeta", dbeta, gradients.dbeta, plains.dbeta, Yardstick::kGradient);
    }
  }
}

TEST(LayerNorm, agrees_with_float64_for_every_number_of_channels) {
  for (const std::int64_t channels : {2, 3, 4, 7, 8, 15, 16, 17, 33, 63, 64, 65, 130, 768})
    expect_right({2, 19, channels}, {});
}

TEST(LayerNorm, agrees_with_float64_in_every_type_and_stride) {
  for (Form form : {Form{DType::kF64, DType::kF64, DType::kF64}, Form{}, Form{DType::kBF16, DType::kBF16, DType::kBF16},
                    Form{DType::kBF16, DType::kF32, DType::kF32}, Form{DType::kF16, DType::kF16, DType::kF32}})
    for (const Placement& placement :
         {Placement{}, Placement{.row_gap = 5, .shift = 3}, Placement{.last_stride = 3, .row_gap = 1}}) {
      form.placement = placement;
      expect_right({3, 5, 37}, form);
    }
}

TEST(LayerNorm, of_many_rows_sums_its_gradients_in_runs) { expect_right({2, 700, 9}, {}); }

TEST(LayerNorm, of_one_channel_is_beta) { expect_right({2, 3, 1}, {}); }

TEST(LayerNorm, keeps_its_digits_where_the_mean_is_large) {
  Placed x = random_tensor(DType::kF32, {1, 4, 200}, 1, {}, false, 0.01);
  for (std::int64_t i = 0; i < 800; ++i) static_cast<float*>(x.view.data)[i] += 1000;
  const auto want = must(reference::layernorm_forward(x.view, {{}, {}, 1e-12}));
  for (const Target target : available_targets()) {
    Placed u = empty_tensor(DType::kF32, {1, 4, 200});
    must(layernorm_forward(x.view, {{}, {}, 1e-12}, u.view, on(target)));
    const check::Comparison verdict = must(check::compare(u.view, want.u.view(), {.absolute = 1e-5}));
    EXPECT_TRUE(verdict.passed) << to_string(verdict);
  }
}

TEST(LayerNorm, a_constant_row_is_beta_and_without_eps_nan_and_no_other_row) {
  Placed x = random_tensor(DType::kF32, {1, 3, 21}, 1);
  for (int c = 0; c < 21; ++c) set_element(x.view, 21 + c, 0.1);
  const Placed beta = random_tensor(DType::kF32, {21}, 2);
  for (const Target target : available_targets()) {
    Placed u = must(check::place_empty(DType::kF32, {1, 3, 21}));
    must(layernorm_forward(x.view, {{}, beta.view, 1e-300}, u.view, on(target)));
    must(layernorm_forward(x.view, {{}, beta.view, 1e-30}, u.view, on(target)));
    for (int c = 0; c < 21; ++c) EXPECT_EQ(u.view.as<float>()(0, 1, c), beta.view.as<float>()(c));
    must(layernorm_forward(x.view, {{}, beta.view, 0}, u.view, on(target)));
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 21; ++c) EXPECT_EQ(std::isnan(u.view.as<float>()(0, r, c)), r == 1) << r << " " << c;
  }
}

// x · 2^exponent, exactly.
Placed times_power_of_two(const Placed& x, int exponent) {
  Placed scaled = must(check::place(x.view));
  for_each_element(scaled.view.shape, scaled.view.strides, [&](std::int64_t at) {
    set_element(scaled.view, at, std::ldexp(element_as_double(scaled.view, at), exponent));
  });
  return scaled;
}

TEST(LayerNorm, of_numbers_whose_squares_leave_the_type_is_that_of_ordinary_ones) {
  struct Range {
    DType dtype;
    int exponent;
  };
  for (const Range range :
       {Range{DType::kF32, 124}, Range{DType::kF32, 70}, Range{DType::kF32, -70}, Range{DType::kF32, -100},
        Range{DType::kBF16, 120}, Range{DType::kF64, 1000}, Range{DType::kF64, -900}}) {
    const Placed x = random_tensor(range.dtype, {1, 6, 77}, 1), du = random_tensor(range.dtype, {1, 6, 77}, 2);
    const Placed far = times_power_of_two(x, range.exponent);
    for (const Target target : available_targets()) {
      const auto empty = [&] { return empty_tensor(range.dtype, {1, 6, 77}); };
      Placed u = empty(), u_far = empty(), dx = empty(), dx_far = empty();
      must(layernorm_forward(x.view, {{}, {}, 0}, u.view, on(target)));
      must(layernorm_forward(far.view, {{}, {}, 0}, u_far.view, on(target)));
      EXPECT_EQ(bits_of(u_far.view), bits_of(u.view)) << range.exponent << " on " << to_string(target);
      must(layernorm_backward(x.view, du.view, {{}, {}, 0}, {dx.view, {}, {}}, on(target)));
      must(layernorm_backward(far.view, du.view, {{}, {}, 0}, {dx_far.view, {}, {}}, on(target)));
      if (range.exponent > 0) continue;  // such a gradient sinks into the subnormal numbers
      EXPECT_EQ(bits_of(times_power_of_two(dx_far, range.exponent).view), bits_of(dx.view)) << range.exponent;
    }
  }
}

TEST(LayerNorm, eps_counts_beside_small_numbers_as_it_does_beside_ordinary_ones) {
  const Placed x = random_tensor(DType::kF32, {1, 2, 40}, 1);
  const Placed small = times_power_of_two(x, -60);
  for (const Target target : available_targets()) {
    Placed u = empty_tensor(DType::kF32, {1, 2, 40}), u_small = empty_tensor(DType::kF32, {1, 2, 40});
    must(layernorm_forward(x.view, {{}, {}, 0.5}, u.view, on(target)));
    must(layernorm_forward(small.view, {{}, {}, std::ldexp(0.5, -120)}, u_small.view, on(target)));
    EXPECT_EQ(bits_of(u_small.view), bits_of(u.view)) << to_string(target);
  }
}

TEST(LayerNorm, works_in_place) {
  for (const Target target : available_targets()) {
    Placed x = random_tensor(DType::kF32, {2, 20, 33}, 1), u = empty_tensor(DType::kF32, {2, 20, 33});
    must(layernorm_forward(x.view, {}, u.view, on(target)));
    must(layernorm_forward(x.view, {}, x.view, on(target)));
    EXPECT_EQ(bits_of(x.view), bits_of(u.view));
  }
}

TEST(LayerNorm, gives_the_same_bits_for_any_number_of_threads) {
  const Placed x = random_tensor(DType::kF32, {3, 300, 200}, 1), du = random_tensor(DType::kF32, {3, 300, 200}, 2);
  for (const Target target : available_targets()) {
    std::vector<std::vector<unsigned char>> first;
    for (const int threads : {1, 2, 3, 5, 8}) {
      Placed u = empty_tensor(DType::kF32, {3, 300, 200}), dx = empty_tensor(DType::kF32, {3, 300, 200});
      Placed dgamma = empty_tensor(DType::kF32, {200}), dbeta = empty_tensor(DType::kF32, {200});
      EXPECT_EQ(must(layernorm_forward(x.view, {}, u.view, on(target, threads))).threads, threads);
      must(layernorm_backward(x.view, du.view, {}, {dx.view, dgamma.view, dbeta.view}, on(target, threads)));
      std::vector<std::vector<unsigned char>> bits = {bits_of(u.view), bits_of(dx.view), bits_of(dgamma.view),
                                                      bits_of(dbeta.view)};
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first) << threads << " threads on " << to_string(target);
    }
  }
}

TEST(LayerNorm, of_no_rows_has_zero_gradients) {
  const Placed x = random_tensor(DType::kF32, {2, 0, 5}, 1);
  Placed u = empty_tensor(DType::kF32, {2, 0, 5}), dgamma = empty_tensor(DType::kF32, {5});
  must(layernorm_forward(x.view, {}, u.view));
  must(layernorm_backward(x.view, x.view, {}, {{}, dgamma.view, {}}));
  for (int c = 0; c < 5; ++c) EXPECT_EQ(dgamma.view.as<float>()(c), 0);
}

TEST(LayerNorm, refuses_what_the_reference_refuses_and_what_cannot_be_written) {
  const Placed x = random_tensor(DType::kF32, {2, 3, 5}, 1), three = random_tensor(DType::kF32, {3}, 2);
  Placed u = empty_tensor(DType::kF32, {2, 3, 5}), wide = empty_tensor(DType::kF64, {2, 3, 5});
  const auto message = [](const auto& result) { return result.status().message(); };
  EXPECT_EQ(message(layernorm_forward(x.view, {three.view, {}, 0}, u.view)),
            message(reference::layernorm_forward(x.view, {three.view, {}, 0})));
  EXPECT_EQ(message(layernorm_forward(x.view, {{}, {}, -1}, u.view)),
            message(reference::layernorm_forward(x.view, {{}, {}, -1})));
  EXPECT_EQ(message(layernorm_forward(x.view, {}, three.view)), "layernorm: u is [3]; expected [2,3,5]");
  EXPECT_EQ(message(layernorm_forward(x.view, {}, wide.view)),
            "layernorm: u is f64 but x is f32; f64 goes with f64 only");
  EXPECT_EQ(message(layernorm_forward(three.view, {}, three.view)),
            "layernorm: x [B,T,C] needs 3 axes (or 2), found 1: [3]");
  EXPECT_EQ(message(layernorm_backward(x.view, three.view, {}, {})),
            message(reference::layernorm_backward(x.view, three.view, {})));
  EXPECT_EQ(message(layernorm_backward(x.view, x.view, {}, {{}, u.view, {}})),
            "layernorm: dgamma is [2,3,5]; expected [5]");
}

}  // namespace
}  // namespace qkv
