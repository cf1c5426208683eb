// The reference layer: its stages and how they follow from each other. Its numbers are proven in tests/.
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "qkv/reference.h"

namespace qkv {
namespace {

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> out;
  out.reserve(trace.stages.size());
  for (const Stage& stage : trace.stages) out.push_back(stage.name);
  return out;
}

// Every stage comes after those that it was made from, under a name of its own, with a letter an axis.
void expect_well_formed(const Trace& trace) {
  std::set<std::string> seen;
  for (const Stage& stage : trace.stages) {
    for (const std::string& source : stage.from) EXPECT_TRUE(seen.count(source)) << stage.name << " from " << source;
    EXPECT_TRUE(seen.insert(stage.name).second) << stage.name << " twice";
    EXPECT_EQ(static_cast<int>(stage.dims.size()), stage.values.shape().rank()) << stage.name;
    EXPECT_EQ(stage.formula.empty(), stage.from.empty()) << stage.name;
    EXPECT_EQ(stage.values.dtype(), DType::kF64);
  }
}

struct Layer {
  std::vector<float> x = {1, 2, 4, 0, 1, 3};  // [1,2,3], f32: the reference reads any floating type
  std::vector<double> w = {1, 0, 2, 1, 0, 1, 1, 1, 0, 0, -1, 1}, wo = {1, 2, 3, 4}, b = {0.5, -0.5}, c = {1, 2, 3};
  LayerParameters parameters() const {
    LayerParameters p;
    p.wq = View<const double>(w.data(), {3, 4});
    p.wk = p.wv = View<const double>(w.data(), {3, 2}, {4, 1});
    p.wo = View<const double>(wo.data(), {4, 1});
    p.bk = View<const double>(b.data(), {2});
    p.gamma = View<const double>(c.data(), {3});
    return p;
  }
  LayerOptions options() const {
    LayerOptions o;
    o.query_heads = 2;
    o.kv_heads = 1;
    o.attention.softcap = 2;
    return o;
  }
  View<const void> input() const { return View<const float>(x.data(), {1, 2, 3}); }
};

TEST(LayerReference, the_trace_names_every_stage_in_the_order_in_which_it_was_made) {
  const Layer layer;
  Trace trace;
  ASSERT_TRUE(reference::layer_forward(layer.input(), layer.parameters(), layer.options(), &trace).is_ok());
  EXPECT_EQ(names(trace), (std::vector<std::string>{"x",      "gamma", "wq",  "wk", "bk",     "wv",  "wo",     "mean",
                                                    "sigma",  "u",     "q",   "k",  "v",      "raw", "scaled", "capped",
                                                    "masked", "p",     "lse", "o",  "merged", "y"}));
  expect_well_formed(trace);
  EXPECT_EQ(trace.find("k")->formula, "u · wk + bk, split into heads");
  EXPECT_EQ(trace.find("k")->from, (std::vector<std::string>{"u", "wk", "bk"}));
  EXPECT_EQ(trace.find("u")->formula, "(x − mean) / sigma · gamma");
  EXPECT_EQ(trace.find("nothing"), nullptr);
}

TEST(LayerReference, the_backward_trace_goes_on_from_the_forward_one) {
  const Layer layer;
  const std::vector<double> dy = {1, -2};
  Trace trace;
  ASSERT_TRUE(reference::layer_backward(layer.input(), layer.parameters(), View<const double>(dy.data(), {1, 2, 1}),
                                        layer.options(), &trace)
                  .is_ok());
  const std::vector<std::string> all = names(trace);
  const std::vector<std::string> backward(all.begin() + 22, all.end());
  EXPECT_EQ(backward, (std::vector<std::string>{"dy", "dmerged", "do", "dp", "delta", "ds", "dq", "dk", "dv", "du",
                                                "dx", "dgamma", "dwq", "dwk", "dbk", "dwv", "dwo"}));
  expect_well_formed(trace);
}

TEST(LayerReference, without_norm_and_output_projection_the_merged_heads_are_the_result) {
  const Layer layer;
  LayerParameters parameters = layer.parameters();
  parameters.wo = {};
  parameters.gamma = {};
  LayerOptions options = layer.options();
  options.norm = Norm::kNone;
  Trace trace;
  const auto y = reference::layer_forward(layer.input(), parameters, options, &trace);
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  EXPECT_EQ(y->shape(), (Dims{1, 2, 4}));
  EXPECT_EQ(trace.stages.back().name, "merged");
  EXPECT_EQ(trace.find("mean"), nullptr);
  EXPECT_EQ(trace.find("u")->formula, "x");
}

TEST(LayerReference, an_error_leaves_the_trace_as_it_was) {
  Layer layer;
  layer.x = {1, 1, 1, 2, 3, 4};
  LayerOptions options = layer.options();
  options.eps = 0;
  Trace trace;
  const auto y = reference::layer_forward(layer.input(), layer.parameters(), options, &trace);
  EXPECT_EQ(y.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(y.status().message().find("row [0,0]"), std::string::npos) << y.status().message();
  options = layer.options();
  options.attention.scale = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(reference::layer_forward(layer.input(), layer.parameters(), options, &trace).is_ok());
  EXPECT_TRUE(trace.stages.empty());
}

TEST(LayerReference, a_batch_without_tokens_gives_an_empty_result_and_zero_gradients) {
  const Layer layer;
  const View<const float> none(layer.x.data(), {2, 0, 3});
  const auto got = reference::layer_backward(none, layer.parameters(), View<const double>(layer.wo.data(), {2, 0, 1}),
                                             layer.options());
  ASSERT_TRUE(got.is_ok()) << got.status().message();
  EXPECT_EQ(got->dx.shape(), (Dims{2, 0, 3}));
  for (std::int64_t i = 0; i < got->dwq.size(); ++i) EXPECT_EQ(got->dwq.data<double>()[i], 0);
}

}  // namespace
}  // namespace qkv
