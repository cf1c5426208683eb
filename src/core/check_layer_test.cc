// Every refusal of a layer's parameters, with its sentence.
#include "src/core/check_layer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace qkv {
namespace {

const std::vector<double> kMemory(512, 1.0);

View<const void> f64(Dims shape) { return View<const double>(kMemory.data(), shape); }

// x [2,3,4], Hq/Hkv 4/2, D 3, Dv 2, everything there.
struct Layer {
  View<const void> x = f64({2, 3, 4});
  LayerParameters p;
  LayerOptions options;

  Layer() {
    options.query_heads = 4;
    options.kv_heads = 2;
    p.gamma = p.beta = f64({4});
    p.wq = f64({4, 12});
    p.bq = f64({12});
    p.wk = f64({4, 6});
    p.bk = f64({6});
    p.wv = f64({4, 4});
    p.bv = f64({4});
    p.wo = f64({8, 5});
    p.bo = f64({5});
  }
  Result<LayerShape> check() const { return check_layer(x, p, options); }
  std::string refusal() const { return check().status().message(); }
};

Layer fused_layer() {
  Layer layer;
  layer.p = {};
  layer.p.wqkv = f64({4, 24});
  layer.p.bqkv = f64({24});
  return layer;
}

TEST(CheckLayer, gives_the_shape_of_separate_and_of_fused_weights) {
  const Result<LayerShape> shape = Layer().check();
  ASSERT_TRUE(shape.is_ok()) << shape.status().message();
  EXPECT_EQ(shape->batch, 2);
  EXPECT_EQ(shape->length, 3);
  EXPECT_EQ(shape->channels, 4);
  EXPECT_EQ(shape->width, 3);
  EXPECT_EQ(shape->value_width, 2);
  EXPECT_EQ(shape->out_channels, 5);
  const Result<LayerShape> fused = fused_layer().check();
  ASSERT_TRUE(fused.is_ok()) << fused.status().message();
  EXPECT_EQ(fused->width, 3);
  EXPECT_EQ(fused->value_width, 3);
  EXPECT_EQ(fused->out_channels, 12) << "the merged heads, without wo";
}

TEST(CheckLayer, kv_heads_of_0_are_as_many_as_the_query_heads) {
  Layer layer;
  layer.options.kv_heads = 0;
  layer.p.wk = f64({4, 12});
  layer.p.bk = f64({12});
  layer.p.wv = f64({4, 8});
  layer.p.bv = f64({8});
  const Result<LayerShape> shape = layer.check();
  ASSERT_TRUE(shape.is_ok()) << shape.status().message();
  EXPECT_EQ(shape->kv_heads, 4);
}

TEST(CheckLayer, a_fused_matrix_is_taken_apart_in_the_order_q_k_v) {
  const Layer layer = fused_layer();
  const LayerParameters parts = separated(*layer.check(), layer.p);
  const auto* first = static_cast<const double*>(layer.p.wqkv.data);
  EXPECT_EQ(parts.wq.data, first);
  EXPECT_EQ(parts.wk.data, first + 12);
  EXPECT_EQ(parts.wv.data, first + 18);
  EXPECT_EQ(parts.wk.shape, (Dims{4, 6}));
  EXPECT_EQ(parts.wk.strides, (Dims{24, 1}));
  EXPECT_EQ(parts.bv.shape, Dims{6});
  EXPECT_FALSE(parts.wqkv.is_present());
}

struct Refusal {
  const char* name;
  void (*spoil)(Layer&);
  StatusCode code;
  const char* message;
};

class CheckLayerRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(CheckLayerRefuses, with_a_sentence_that_names_the_line) {
  Layer layer;
  GetParam().spoil(layer);
  EXPECT_EQ(layer.check().code(), GetParam().code);
  EXPECT_EQ(layer.refusal(), GetParam().message);
}

constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
constexpr StatusCode kMismatch = StatusCode::kShapeMismatch;

INSTANTIATE_TEST_SUITE_P(
    Everything, CheckLayerRefuses,
    testing::Values(
        Refusal{"no_heads", [](Layer& l) { l.options.query_heads = 0; }, kInvalid,
                "layer: query_heads must be at least 1, found 0"},
        Refusal{"negative_kv_heads", [](Layer& l) { l.options.kv_heads = -1; }, kInvalid,
                "layer: kv_heads must be at least 1 (or 0 for as many as query_heads), found -1"},
        Refusal{"heads_that_do_not_divide", [](Layer& l) { l.options.kv_heads = 3; }, kInvalid,
                "layer: kv_heads = 3 does not divide query_heads = 4"},
        Refusal{"eps", [](Layer& l) { l.options.eps = std::numeric_limits<double>::infinity(); }, kInvalid,
                "layer: eps must be finite and not negative, found inf"},
        Refusal{"no_wk", [](Layer& l) { l.p.wk = {}; }, kInvalid,
                "layer: wk is missing; give wq, wk and wv, or one fused wqkv"},
        Refusal{"both", [](Layer& l) { l.p.wqkv = f64({4, 24}); }, kInvalid,
                "layer: wq is given beside the fused wqkv; give one or the other"},
        Refusal{"bqkv", [](Layer& l) { l.p.bqkv = f64({24}); }, kInvalid,
                "layer: bqkv belongs to a fused wqkv; give bq, bk and bv instead"},
        Refusal{"bo_alone", [](Layer& l) { l.p.wo = {}; }, kInvalid, "layer: bo is given without wo"},
        Refusal{"gamma_without_a_norm", [](Layer& l) { l.options.norm = Norm::kNone; }, kInvalid,
                "layer: gamma is given but the layer has no norm"},
        Refusal{"x_of_rank_2", [](Layer& l) { l.x = f64({3, 4}); }, kMismatch,
                "layer: x [B,T,C] needs 3 axes, found 2: [3,4]"},
        Refusal{"no_x", [](Layer& l) { l.x = {}; }, kMismatch, "layer: x [B,T,C] needs C >= 1"},
        Refusal{"gamma", [](Layer& l) { l.p.gamma = f64({3}); }, kMismatch,
                "layer: gamma [C] is [3], but C is 4 by x [2,3,4] (x [2,3,4])"},
        Refusal{"wq_columns", [](Layer& l) { l.p.wq = f64({4, 10}); }, kMismatch,
                "layer: wq [4,10] has 10 columns; expected a multiple of Hq = 4 (x [2,3,4], gamma [4], beta [4])"},
        Refusal{"wq_rows", [](Layer& l) { l.p.wq = f64({5, 12}); }, kMismatch,
                "layer: wq [C,Hq*D] is [5,12], but C is 4 by x [2,3,4] (x [2,3,4], gamma [4], beta [4])"},
        Refusal{"wk_columns", [](Layer& l) { l.p.wk = f64({4, 8}); }, kMismatch,
                "layer: wk [C,Hkv*D] is [4,8], but Hkv*D is 6 by kv_heads and wq [4,12] (x [2,3,4], gamma [4], beta "
                "[4], wq [4,12])"},
        Refusal{"wv_rank", [](Layer& l) { l.p.wv = f64({16}); }, kMismatch,
                "layer: wv [C,Hkv*Dv] needs 2 axes, found 1: [16] (x [2,3,4], gamma [4], beta [4], wq [4,12], wk "
                "[4,6])"},
        Refusal{"type",
                [](Layer& l) {
                  l.p.wo = View<const std::int32_t>(reinterpret_cast<const std::int32_t*>(kMemory.data()), {8, 5});
                },
                kMismatch,
                "layer: wo is i32; expected f64, f32, bf16 or f16 (x [2,3,4], gamma [4], beta [4], wq [4,12], wk "
                "[4,6], wv [4,4], bq [12], bk [6], bv [4], wo [8,5])"},
        Refusal{"wo_rows", [](Layer& l) { l.p.wo = f64({12, 5}); }, kMismatch,
                "layer: wo [Hq*Dv,Cout] is [12,5], but Hq*Dv is 8 by query_heads and wv [4,4] (x [2,3,4], gamma [4], "
                "beta [4], wq [4,12], wk [4,6], wv [4,4], bq [12], bk [6], bv [4])"}),
    [](const testing::TestParamInfo<Refusal>& row) { return row.param.name; });

TEST(CheckLayer, a_fused_matrix_has_as_many_columns_as_its_heads_need) {
  Layer layer = fused_layer();
  layer.p.wqkv = f64({4, 20});
  EXPECT_EQ(layer.refusal(), "layer: wqkv [4,20] has 20 columns; expected a multiple of (Hq+2Hkv) = 8 (x [2,3,4])");
}

TEST(CheckLayer, the_gradient_has_the_shape_of_the_result) {
  const Layer layer;
  EXPECT_TRUE(check_layer_gradient(*layer.check(), f64({2, 3, 5})).is_ok());
  EXPECT_EQ(check_layer_gradient(*layer.check(), f64({2, 3, 4})).message(),
            "layer: d_y [B,T,Cout] is [2,3,4], but Cout is 5 by the layer's result");
}

}  // namespace
}  // namespace qkv
