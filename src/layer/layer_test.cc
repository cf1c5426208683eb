// The fast layer forward on every target, held to float64: every form, type, stride and attention option.
#include "qkv/layer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/core/check_layer.h"
#include "tests/layer_case.h"

namespace qkv {
namespace {

using check::Placed;
using check::Placement;

void expect_right(const LayerCase& c) {
  const std::string name = to_string(c.form());
  const Tensor want = must(reference::layer_forward(c.x.view, c.p, c.options), name);
  const Tensor plain = must(check::plain_layer_forward(c.x.view, c.p, c.options), name);
  for (const Target target : available_targets()) {
    const std::string where = name + " on " + std::string(to_string(target));
    const Placed y = c.empty_y();
    const Report report = must(layer_forward(c.x.view, c.p, y.view, c.options, on(target)), where);
    EXPECT_EQ(report.target, target);
    expect_within(where, y, want, plain, Yardstick::kForward);
  }
}

TEST(Layer, agrees_with_float64_in_every_form) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused})
    for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        for (const Presence others : {Presence::kPresent, Presence::kAbsent})
          expect_right(
              LayerCase({.weights = weights, .norm = norm, .output = output, .biases = others, .scales = others}));
}

TEST(Layer, agrees_with_float64_in_every_type) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const Weights weights : {Weights::kSeparate, Weights::kFused})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        expect_right(LayerCase({.length = 33, .dtype = dtype, .weights = weights, .output = output}));
}

TEST(Layer, agrees_with_float64_wherever_its_tensors_lie) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        for (const Placement& placement :
             {Placement{.row_gap = 5, .shift = 3}, Placement{.last_stride = 3, .row_gap = 1}})
          expect_right(LayerCase({.dtype = dtype, .norm = norm, .output = output, .placement = placement}));
}

TEST(Layer, takes_weights_as_pytorch_keeps_them) {
  expect_right(LayerCase({.weights = Weights::kFused, .transposed = true}));
  expect_right(LayerCase({.length = 1, .transposed = true}));
}

TEST(Layer, agrees_with_float64_on_odd_shapes) {
  expect_right(LayerCase({.batch = 1, .length = 1, .channels = 1, .query_heads = 1, .kv_heads = 1, .width = 1}));
  expect_right(LayerCase({.batch = 3, .length = 1}));  // a row a batch
  expect_right(LayerCase({.batch = 1, .length = 5, .query_heads = 6, .kv_heads = 1, .value_width = 9}));
  expect_right(LayerCase({.batch = 1, .length = 70, .channels = 130, .query_heads = 5, .kv_heads = 5, .width = 26}));
  expect_right(LayerCase({.batch = 2, .length = 200, .channels = 96, .query_heads = 3, .kv_heads = 3, .width = 32}));
}

TEST(Layer, hands_every_option_to_attention) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    LayerCase c({.length = 9, .weights = weights});
    AttentionOptions& a = c.options.attention;
    a.causality = Causality::kCausal;
    expect_right(c);
    a.window = {2, -1};
    a.softcap = 2.5;
    a.scale = -0.3;
    const std::vector<double> slopes = alibi_slopes(4), sinks = {0.5, -1, 2, 0};
    a.slopes = slopes;
    a.sinks = sinks;
    expect_right(c);
    const std::vector<std::int64_t> lengths = {4, 9};
    a = {};
    a.key_lengths = lengths;
    expect_right(c);
    const Placed bias = random_tensor(c.form().dtype, {2, 4, 9, 9}, 50);
    a = {};
    a.bias = bias.view;
    expect_right(c);
  }
}

TEST(Layer, whose_x_and_y_are_no_matrices_is_right) {
  // Tokens 0 to 6 of a buffer of 9 a batch.
  for (const Norm norm : {Norm::kLayerNorm, Norm::kNone}) {
    LayerCase c({.length = 9, .norm = norm});
    const auto cut = [](View<void> view) {
      view.shape[1] = 7;
      return view;
    };
    c.x.view = cut(c.x.view);
    const Tensor want = must(reference::layer_forward(c.x.view, c.p, c.options));
    const Tensor plain = must(check::plain_layer_forward(c.x.view, c.p, c.options));
    for (const Target target : available_targets()) {
      Placed y = c.empty_y();
      y.view = cut(y.view);
      must(layer_forward(c.x.view, c.p, y.view, c.options, on(target)));
      expect_within("cut", y, want, plain, Yardstick::kForward);
    }
  }
}

TEST(Layer, of_nothing_writes_nothing) {
  for (const LayerForm& form : {LayerForm{.batch = 0}, LayerForm{.length = 0}}) {
    const LayerCase c(form);
    const Placed y = c.empty_y();
    must(layer_forward(c.x.view, c.p, y.view, c.options));
    EXPECT_TRUE(check::surroundings_are_intact(y));
  }
}

TEST(Layer, fused_and_separate_weights_give_the_same_bits) {
  LayerCase fused({.length = 40, .channels = 64, .width = 16, .weights = Weights::kFused});
  const LayerOptions& options = fused.options;
  const LayerShape shape = must(check_layer(fused.x.view, fused.p, options));
  for (const Target target : available_targets()) {
    const Placed one = fused.empty_y(), other = fused.empty_y();
    must(layer_forward(fused.x.view, fused.p, one.view, options, on(target)));
    must(layer_forward(fused.x.view, separated(shape, fused.p), other.view, options, on(target)));
    EXPECT_EQ(bits_of(one.view), bits_of(other.view)) << to_string(target);
  }
}

TEST(Layer, gives_the_same_bits_for_any_number_of_threads) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    LayerCase c({.length = 300,
                 .channels = 192,
                 .query_heads = 6,
                 .kv_heads = 3,
                 .width = 32,
                 .value_width = 32,
                 .out_channels = 192,
                 .dtype = dtype});
    c.options.attention.causality = Causality::kCausal;
    for (const Target target : available_targets()) {
      std::vector<unsigned char> first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        const Placed y = c.empty_y();
        const Report report = must(layer_forward(c.x.view, c.p, y.view, c.options, on(target, threads)));
        EXPECT_EQ(report.threads, threads);
        if (first.empty()) first = bits_of(y.view);
        EXPECT_EQ(bits_of(y.view), first) << threads << " threads on " << to_string(target);
      }
    }
  }
}

TEST(Layer, a_constant_token_without_eps_is_nan_where_it_is_seen_and_nowhere_else) {
  LayerCase c({.batch = 1, .length = 6});
  c.options.eps = 0;
  c.options.attention.causality = Causality::kCausal;
  for (int channel = 0; channel < 20; ++channel) set_element(c.x.view, 3 * 20 + channel, 0.7);
  for (const Target target : available_targets()) {
    const Placed y = c.empty_y();
    must(layer_forward(c.x.view, c.p, y.view, c.options, on(target)));
    for (int t = 0; t < 6; ++t)
      for (int e = 0; e < 11; ++e) EXPECT_EQ(std::isnan(y.view.as<float>()(0, t, e)), t >= 3) << t << " " << e;
  }
}

TEST(Layer, reports_what_it_did) {
  const LayerCase c({.weights = Weights::kFused});
  const Placed y = c.empty_y();
  const Report report = must(layer_forward(c.x.view, c.p, y.view, c.options));
  const double norm = 8.0 * 14 * 20, projections = 2.0 * 14 * (20 * 48 + 24 * 11), attention = 2.0 * 12 * 2 * 4 * 49;
  EXPECT_EQ(report.flops, norm + projections + attention);
  EXPECT_EQ(report.threads, 1);
  EXPECT_GT(report.scratch_bytes, 0u);
}

TEST(Layer, uses_a_fixed_workspace_for_itself_and_for_attention_and_no_more) {
  const LayerCase c({.length = 50});
  const Placed y = c.empty_y();
  const std::size_t needed = must(layer_forward(c.x.view, c.p, y.view, c.options)).scratch_bytes;
  const std::vector<unsigned char> right = bits_of(y.view);
  std::vector<char> memory(needed + 64);
  Workspace fixed(memory.data(), memory.size());
  Execution execution;
  execution.workspace = &fixed;
  const Placed again = c.empty_y();
  must(layer_forward(c.x.view, c.p, again.view, c.options, execution));
  EXPECT_EQ(bits_of(again.view), right);

  Workspace small(memory.data(), memory.size() - 128);
  execution.workspace = &small;
  const Placed untouched = c.empty_y();
  const Status status = layer_forward(c.x.view, c.p, untouched.view, c.options, execution).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "layer: the workspace holds " + std::to_string(memory.size() - 128) +
                                  " bytes, and this call needs " + std::to_string(needed + 64));
  EXPECT_EQ(bits_of(untouched.view), bits_of(c.empty_y().view));
}

TEST(Layer, a_growing_workspace_is_large_enough_after_one_call) {
  const LayerCase c({.length = 50});
  const Placed y = c.empty_y();
  Workspace workspace;
  Execution execution;
  execution.workspace = &workspace;
  must(layer_forward(c.x.view, c.p, y.view, c.options, execution));
  const std::size_t grown = workspace.capacity();
  const Report report = must(layer_forward(c.x.view, c.p, y.view, c.options, execution));
  EXPECT_EQ(workspace.capacity(), grown);
  EXPECT_LE(report.scratch_bytes, grown);
}

TEST(Layer, progress_runs_to_the_end_and_may_stop_the_call) {
  LayerCase c({.length = 300,
               .channels = 192,
               .query_heads = 6,
               .kv_heads = 3,
               .width = 32,
               .value_width = 32,
               .out_channels = 192});
  for (const int threads : {1, 3}) {
    std::int64_t last = 0, total = 0, calls = 0;
    bool backwards = false;
    Execution execution = on(Target::kAuto, threads);
    execution.progress = [&](std::int64_t done, std::int64_t all) {
      backwards |= done < last;
      last = done;
      total = all;
      ++calls;
      return true;
    };
    const Placed y = c.empty_y();
    must(layer_forward(c.x.view, c.p, y.view, c.options, execution));
    EXPECT_FALSE(backwards);
    EXPECT_EQ(last, total);
    for (const std::int64_t limit : {std::int64_t{1}, calls / 2, calls - 1}) {
      std::int64_t seen = 0;
      execution.progress = [&](std::int64_t, std::int64_t) { return ++seen < limit; };
      const Status status = layer_forward(c.x.view, c.p, y.view, c.options, execution).status();
      EXPECT_EQ(status.code(), StatusCode::kCancelled);
      EXPECT_EQ(status.message(), "layer: stopped by the caller; y is partly written");
      EXPECT_EQ(seen, limit);
    }
  }
}

TEST(Layer, refuses_as_the_reference_does_and_writes_nothing) {
  LayerCase c({});
  const Placed y = c.empty_y();
  const auto expect_same = [&](const LayerParameters& p, const LayerOptions& options) {
    const Status fast = layer_forward(c.x.view, p, y.view, options).status();
    const Status reference = reference::layer_forward(c.x.view, p, options).status();
    EXPECT_EQ(fast.code(), reference.code());
    EXPECT_EQ(fast.message(), reference.message());
    EXPECT_FALSE(fast.is_ok());
  };
  LayerParameters p = c.p;
  p.wk = {};
  expect_same(p, c.options);
  p = c.p;
  p.wo = p.wq;
  expect_same(p, c.options);
  LayerOptions options = c.options;
  options.kv_heads = 3;
  expect_same(c.p, options);
  options = c.options;
  options.attention.softcap = -1;
  expect_same(c.p, options);
  options = c.options;
  const Placed keep = random_tensor(DType::kBool, {3, 3}, 9);
  options.attention.keep = keep.view;
  expect_same(c.p, options);
  EXPECT_EQ(bits_of(y.view), bits_of(c.empty_y().view));
}

TEST(Layer, refuses_what_it_cannot_write_or_would_have_to_convert) {
  LayerCase c({});
  Placed y = c.empty_y();
  const auto message = [&](View<const void> x, const LayerParameters& p, View<void> to, const Execution& e = {}) {
    return layer_forward(x, p, to, c.options, e).status().message();
  };
  const Placed wide = random_tensor(DType::kF64, {20, 12}, 9), short_y = empty_tensor(DType::kF32, {2, 7, 10});
  LayerParameters p = c.p;
  p.wk = wide.view;
  EXPECT_EQ(message(c.x.view, p, y.view), "layer: wk is f64 but x is f32; convert them to one type first");
  EXPECT_NE(message(c.x.view, c.p, short_y.view).find("y [B,T,Cout] is [2,7,10], but Cout is 11"), std::string::npos)
      << message(c.x.view, c.p, short_y.view);
  View<void> half = y.view;
  half.dtype = DType::kBF16;
  EXPECT_NE(message(c.x.view, c.p, half).find("y is bf16; expected f32, the type of x"), std::string::npos);
  View<void> in_x = c.x.view;
  in_x.shape[2] = 11;
  EXPECT_EQ(message(c.x.view, c.p, in_x), "layer: y overlaps the memory of x; give it memory of its own");
  View<void> same = y.view;
  same.strides[1] = 0;
  EXPECT_EQ(message(c.x.view, c.p, same), "layer: y has strides [77,0,1] that put two elements in one place");
  EXPECT_EQ(message(c.x.view, c.p, y.view, on(Target::kAuto, -3)),
            "layer: threads must be 0 (all) or positive, found -3");
  EXPECT_EQ(bits_of(y.view), bits_of(c.empty_y().view));
}

}  // namespace
}  // namespace qkv
