// Public failures around attention: LayerNorm, slopes, splitting heads, packed projections.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "qkv/options.h"
#include "src/ops/layernorm/layernorm_ref.h"
#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Case;
using testing::Json;
using testing::numbers;

TEST(Cases, c044_heads_are_split_within_each_token) {
  const Case c("c044");
  const Array x = array(c.json["inputs"]["x"], 3);
  const Array unit = testing::unit_matrix(4);
  LayerParameters parameters;
  parameters.wq = parameters.wk = parameters.wv = View<const double>(unit.values.data(), {4, 4});
  LayerOptions options;
  options.norm = Norm::kNone;
  options.query_heads = c.json["inputs"]["H"].get<std::int64_t>();
  Trace trace;
  const auto result = reference::layer_forward(x.view(), parameters, options, &trace);
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  const Json right = {c.right("head0"), c.right("head1")};
  for (const char* name : {"q", "k", "v"}) EXPECT_EQ(numbers(trace.find(name)->values), numbers(right)) << c.where();
}

TEST(Cases, c052_packed_projections_are_read_as_their_packing_says) {
  const Case c("c052");
  // Columns q0 k0 v0 q1 k1 v1 of a matrix whose entry in column n is n, times x = 1.
  const std::vector<double> grouped = {0, 1, 2, 3, 4, 5};
  const std::vector<double> one = {1};
  const View<const double> x(one.data(), {1, 1, 1});
  const auto part = [&](std::int64_t first) {
    return View<const double>(&grouped[static_cast<std::size_t>(first)], {1, 2}, {6, 3});
  };
  LayerParameters parameters;
  parameters.wq = part(0);
  parameters.wk = part(1);
  parameters.wv = part(2);
  LayerOptions options;
  options.norm = Norm::kNone;
  options.query_heads = 2;
  Trace by_strides;
  ASSERT_TRUE(reference::layer_forward(x, parameters, options, &by_strides).is_ok());

  const std::vector<double> by_kind = {0, 3, 1, 4, 2, 5};  // q0 q1 k0 k1 v0 v1, the order of wqkv
  parameters = {};
  parameters.wqkv = View<const double>(by_kind.data(), {1, 6});
  Trace fused;
  ASSERT_TRUE(reference::layer_forward(x, parameters, options, &fused).is_ok());

  const std::vector<std::string> rows = c.json["inputs"]["rows"];
  for (const char* name : {"q", "k", "v"}) {
    EXPECT_EQ(numbers(by_strides.find(name)->values), numbers(fused.find(name)->values)) << c.where();
    std::vector<std::string> read;
    for (const double column : numbers(fused.find(name)->values))
      read.push_back(rows[static_cast<std::size_t>(column)]);
    EXPECT_EQ(read, c.right(name).get<std::vector<std::string>>()) << c.where();
  }
}

TEST(Cases, c082_the_variance_is_biased_and_eps_is_inside_the_root) {
  const Case c("c082");
  const Array x = array(c.json["inputs"]["x"], 1);
  for (const auto& [name, eps] : {std::pair{"y_eps_1e_6", 1e-6}, {"y_eps_1e_5", 1e-5}}) {
    const auto y = reference::layernorm_forward(x.view(), {{}, {}, eps});
    ASSERT_TRUE(y.is_ok()) << y.status().message();
    SCOPED_TRACE(c.where());
    testing::expect_numbers(numbers(y->u), c.right(name));
  }
}

TEST(Cases, c084_a_large_mean_does_not_cancel_the_variance) {
  const Case c("c084");
  std::vector<float> x(16);
  for (std::size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(1000 + static_cast<double>(i) * 0.001);
  const double eps = c.json["inputs"]["eps"].get<double>();
  const auto y = reference::layernorm_forward(View<const float>(x.data(), {16}), {{}, {}, eps});
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  const double sigma = numbers(y->sigma)[0];
  EXPECT_NEAR(sigma * sigma - eps, c.right("var").get<double>(), 1e-15) << c.where();
  EXPECT_NEAR(numbers(y->u)[0], c.right("y0").get<double>(), 1e-10) << c.where();
}

TEST(Cases, c087_the_gradient_of_layernorm_takes_each_mean_once) {
  const Case c("c087");
  const Array x = array(c.json["inputs"]["x"], 1);
  const Array dy = array(c.json["inputs"]["dy"], 1);
  const auto got = reference::layernorm_backward(x.view(), dy.view(), {{}, {}, c.json["inputs"]["eps"].get<double>()});
  ASSERT_TRUE(got.is_ok()) << got.status().message();
  SCOPED_TRACE(c.where());
  testing::expect_numbers(numbers(got->dx), c.right("dx"));
  const std::vector<double> dx = numbers(got->dx);
  EXPECT_NEAR(dx[0] + dx[1] + dx[2], 0, 1e-15);
}

TEST(Cases, c088_slopes_follow_the_published_rule_for_any_number_of_heads) {
  const Case c("c088");
  SCOPED_TRACE(c.where());
  testing::expect_numbers(alibi_slopes(c.json["inputs"]["H"].get<std::int64_t>()), c.right("slopes"));
  testing::expect_numbers(alibi_slopes(12), c.right("H12"));
  EXPECT_EQ(alibi_slopes(8),
            (std::vector<double>{1 / 2., 1 / 4., 1 / 8., 1 / 16., 1 / 32., 1 / 64., 1 / 128., 1 / 256.}));
  EXPECT_EQ(alibi_slopes(1), std::vector<double>{1 / 256.});
  EXPECT_TRUE(alibi_slopes(0).empty());
}

}  // namespace
}  // namespace qkv
