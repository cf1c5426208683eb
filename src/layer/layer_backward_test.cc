// The gradients of the fast layer on every target, held to float64; which are asked for, threads, scratch, refusals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/layer.h"
#include "src/core/check_layer.h"
#include "tests/layer_case.h"

namespace qkv {
namespace {

using check::Placed;
using check::Placement;
using reference::LayerGradients;

// Every gradient that the case has, against the reference's; those of a fused matrix side by side.
void expect_gradients(const std::string& what, const LayerCase& c, const GradientMemory& got,
                      const LayerGradients& want, const LayerGradients& plain) {
  const auto expect = [&](const char* name, const Placed& gradient, const Tensor& a, const Tensor& b) {
    expect_within(what + " " + name, gradient, a, b, Yardstick::kGradient);
  };
  expect("dx", got.dx, want.dx, plain.dx);
  if (c.p.gamma.is_present()) expect("dgamma", got.dgamma, want.dgamma, plain.dgamma);
  if (c.p.beta.is_present()) expect("dbeta", got.dbeta, want.dbeta, plain.dbeta);
  if (c.p.wqkv.is_present()) {
    expect("dwqkv", got.dwqkv, beside(want.dwq, want.dwk, want.dwv), beside(plain.dwq, plain.dwk, plain.dwv));
    if (c.p.bqkv.is_present())
      expect("dbqkv", got.dbqkv, beside(want.dbq, want.dbk, want.dbv), beside(plain.dbq, plain.dbk, plain.dbv));
  } else {
    expect("dwq", got.dwq, want.dwq, plain.dwq);
    expect("dwk", got.dwk, want.dwk, plain.dwk);
    expect("dwv", got.dwv, want.dwv, plain.dwv);
    if (c.p.bq.is_present()) expect("dbq", got.dbq, want.dbq, plain.dbq);
    if (c.p.bk.is_present()) expect("dbk", got.dbk, want.dbk, plain.dbk);
    if (c.p.bv.is_present()) expect("dbv", got.dbv, want.dbv, plain.dbv);
  }
  if (c.p.wo.is_present()) expect("dwo", got.dwo, want.dwo, plain.dwo);
  if (c.p.bo.is_present()) expect("dbo", got.dbo, want.dbo, plain.dbo);
}

void expect_right(const LayerCase& c, DType gradients) {
  const std::string name = to_string(c.form());
  const LayerGradients want = must(reference::layer_backward(c.x.view, c.p, c.d_y.view, c.options), name);
  const LayerGradients plain = must(check::plain_layer_backward(c.x.view, c.p, c.d_y.view, c.options), name);
  for (const Target target : available_targets()) {
    const std::string where = name + " on " + std::string(to_string(target));
    const GradientMemory got(c, gradients);
    const Report report = must(layer_backward(c.x.view, c.p, c.d_y.view, got.views(), c.options, on(target)), where);
    EXPECT_EQ(report.target, target);
    expect_gradients(where, c, got, want, plain);
  }
}

void expect_right(const LayerForm& form) { expect_right(LayerCase(form), form.dtype); }

TEST(LayerBackward, agrees_with_float64_in_every_form) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused})
    for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        for (const Presence others : {Presence::kPresent, Presence::kAbsent})
          expect_right({.weights = weights, .norm = norm, .output = output, .biases = others, .scales = others});
}

TEST(LayerBackward, agrees_with_float64_in_every_type) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const Weights weights : {Weights::kSeparate, Weights::kFused})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
          expect_right({.length = 33, .dtype = dtype, .weights = weights, .norm = norm, .output = output});
}

TEST(LayerBackward, gives_f32_gradients_of_half_types) {
  expect_right(LayerCase({.dtype = DType::kBF16}), DType::kF32);
  expect_right(LayerCase({.dtype = DType::kF16, .weights = Weights::kFused, .norm = Norm::kNone}), DType::kF32);
}

TEST(LayerBackward, agrees_with_float64_wherever_its_tensors_lie) {
  for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
    for (const Presence output : {Presence::kPresent, Presence::kAbsent})
      for (const Placement& placement :
           {Placement{.row_gap = 5, .shift = 3}, Placement{.last_stride = 3, .row_gap = 1}})
        expect_right({.norm = norm, .output = output, .placement = placement});
  expect_right({.weights = Weights::kFused, .transposed = true});
}

TEST(LayerBackward, agrees_with_float64_on_odd_shapes) {
  expect_right({.batch = 3, .length = 1});
  expect_right({.batch = 1, .length = 5, .query_heads = 6, .kv_heads = 1, .value_width = 9});
  expect_right({.batch = 1, .length = 70, .channels = 130, .query_heads = 5, .kv_heads = 5, .width = 26});
  expect_right({.batch = 2, .length = 200, .channels = 96, .query_heads = 3, .kv_heads = 3, .width = 32});
}

TEST(LayerBackward, hands_every_option_to_attention) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    LayerCase c({.length = 9, .weights = weights});
    AttentionOptions& a = c.options.attention;
    a.causality = Causality::kCausal;
    expect_right(c, DType::kF32);
    const std::vector<double> slopes = alibi_slopes(4), sinks = {0.5, -1, 2, 0};
    a.window = {2, -1};
    a.softcap = 2.5;
    a.slopes = slopes;
    a.sinks = sinks;
    expect_right(c, DType::kF32);
    const Placed bias = random_tensor(c.form().dtype, {2, 4, 9, 9}, 50);
    a = {};
    a.bias = bias.view;
    expect_right(c, DType::kF32);
  }
}

TEST(LayerBackward, of_tensors_that_are_no_matrices_is_right) {
  for (const Norm norm : {Norm::kLayerNorm, Norm::kNone}) {
    LayerCase c({.length = 9, .norm = norm});
    const auto cut = [](View<void> view) {
      view.shape[1] = 7;
      return view;
    };
    c.x.view = cut(c.x.view);
    c.d_y.view = cut(c.d_y.view);
    const LayerGradients want = must(reference::layer_backward(c.x.view, c.p, c.d_y.view, c.options));
    const LayerGradients plain = must(check::plain_layer_backward(c.x.view, c.p, c.d_y.view, c.options));
    for (const Target target : available_targets()) {
      GradientMemory got(c, DType::kF32);
      Placed dx = must(check::place_empty(DType::kF32, {2, 9, 20}));
      dx.view = cut(dx.view);
      LayerGradientViews views = got.views();
      views.dx = dx.view;
      must(layer_backward(c.x.view, c.p, c.d_y.view, views, c.options, on(target)));
      got.dx = std::move(dx);
      expect_gradients("cut", c, got, want, plain);
    }
  }
}

TEST(LayerBackward, writes_what_is_asked_for_and_the_same_bits_alone_as_together) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    const LayerCase c({.weights = weights});
    const GradientMemory all(c, DType::kF32);
    must(layer_backward(c.x.view, c.p, c.d_y.view, all.views(), c.options));
    View<void> LayerGradientViews::* const members[] = {
        &LayerGradientViews::dx,  &LayerGradientViews::dgamma, &LayerGradientViews::dbeta, &LayerGradientViews::dwq,
        &LayerGradientViews::dwk, &LayerGradientViews::dwv,    &LayerGradientViews::dbq,   &LayerGradientViews::dbk,
        &LayerGradientViews::dbv, &LayerGradientViews::dwqkv,  &LayerGradientViews::dbqkv, &LayerGradientViews::dwo,
        &LayerGradientViews::dbo};
    for (const auto member : members) {
      const GradientMemory one(c, DType::kF32);
      LayerGradientViews views;
      views.*member = one.views().*member;
      if (!(views.*member).is_present()) continue;
      must(layer_backward(c.x.view, c.p, c.d_y.view, views, c.options));
      EXPECT_EQ(bits_of(views.*member), bits_of(all.views().*member));
    }
    must(layer_backward(c.x.view, c.p, c.d_y.view, {}, c.options));
  }
}

// Memory for what the forward pass keeps, filled by it.
struct Kept {
  Placed qkv, o, lse, y;
  LayerKept forward, backward;

  explicit Kept(const LayerCase& c) {
    const LayerForm& f = c.form();
    const DType compute = f.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    const std::int64_t keys = f.kv_heads * (f.width + f.value_width);
    qkv = must(check::place_empty(f.dtype, {f.batch, f.length, f.query_heads * f.width + keys}));
    lse = must(check::place_empty(compute, {f.batch, f.query_heads, f.length}));
    y = c.empty_y();
    if (c.p.wo.is_present()) o = must(check::place_empty(compute, {f.batch, f.length, f.query_heads * f.value_width}));
    forward = {qkv.view, o.view, lse.view};
    backward = {qkv.view, c.p.wo.is_present() ? o.view : y.view, lse.view};
    must(layer_forward(c.x.view, c.p, y.view, c.options, {}, forward));
  }
};

TEST(LayerBackward, from_what_the_forward_pass_kept_has_the_same_bits) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16})
    for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent}) {
        LayerCase c({.length = 40, .dtype = dtype, .norm = norm, .output = output});
        c.options.attention.causality = Causality::kCausal;
        const Kept kept(c);
        const GradientMemory again(c, dtype), reused(c, dtype);
        const Report all = must(layer_backward(c.x.view, c.p, c.d_y.view, again.views(), c.options));
        const Report less =
            must(layer_backward(c.x.view, c.p, c.d_y.view, reused.views(), c.options, {}, kept.backward));
        EXPECT_LT(less.flops, all.flops);
        const Placed y = c.empty_y();
        must(layer_forward(c.x.view, c.p, y.view, c.options));
        EXPECT_EQ(bits_of(kept.y.view), bits_of(y.view));
        for (std::size_t i = 0; i < again.all().size(); ++i)
          EXPECT_EQ(bits_of(reused.all()[i]->view), bits_of(again.all()[i]->view)) << to_string(c.form()) << " " << i;
      }
}

TEST(LayerBackward, refuses_kept_tensors_that_do_not_fit) {
  const LayerCase c({});
  const Kept kept(c);
  const GradientMemory got(c, DType::kF32);
  const auto message = [&](const LayerKept& k) {
    return layer_backward(c.x.view, c.p, c.d_y.view, got.views(), c.options, {}, k).status().message();
  };
  LayerKept k = kept.backward;
  k.lse = {};
  EXPECT_EQ(message(k), "layer: kept.lse is missing; give all of kept, or none");
  k = kept.backward;
  k.qkv.shape[2] = 45;
  EXPECT_EQ(message(k), "layer: kept.qkv is [2,7,45]; expected [2,7,46]");
  k = kept.backward;
  k.lse.dtype = DType::kBF16;
  EXPECT_EQ(message(k), "layer: kept.lse is bf16; expected f32");
  k = kept.backward;
  k.o.strides[0] = 141;
  EXPECT_EQ(message(k), "layer: kept.o is not contiguous: its strides are [141,20,1]");
  k = kept.backward;
  k.o.data = k.qkv.data;
  EXPECT_EQ(message(k), "layer: kept.o overlaps the memory of kept.qkv; give it memory of its own");
  const LayerCase plain({.output = Presence::kAbsent});
  const Placed y = plain.empty_y();
  EXPECT_EQ(layer_forward(plain.x.view, plain.p, y.view, plain.options, {}, {{}, kept.y.view, {}}).status().message(),
            "layer: kept.o is [2,7,11]; expected [2,7,20]");
  const Placed o = plain.empty_y();
  EXPECT_EQ(layer_forward(plain.x.view, plain.p, y.view, plain.options, {}, {{}, o.view, {}}).status().message(),
            "layer: kept.o is given, but without wo y is what it would hold");
}

TEST(LayerBackward, progress_runs_to_the_end_whatever_is_asked_for) {
  const LayerCase c({.length = 300,
                     .channels = 192,
                     .query_heads = 6,
                     .kv_heads = 3,
                     .width = 32,
                     .value_width = 32,
                     .out_channels = 192});
  const GradientMemory got(c, DType::kF32);
  LayerGradientViews some, output;
  some.dwk = got.dwk.view;
  output.dwo = got.dwo.view;
  for (const LayerGradientViews& views : {got.views(), some, output}) {
    std::int64_t last = 0, total = 1, calls = 0;
    Execution execution;
    execution.progress = [&](std::int64_t done, std::int64_t all) {
      EXPECT_GE(done, last);
      last = done;
      total = all;
      ++calls;
      return true;
    };
    must(layer_backward(c.x.view, c.p, c.d_y.view, views, c.options, execution));
    EXPECT_EQ(last, total);
    execution.progress = [&](std::int64_t, std::int64_t) { return --calls > 1; };
    EXPECT_EQ(layer_backward(c.x.view, c.p, c.d_y.view, views, c.options, execution).status().message(),
              "layer: stopped by the caller; the gradients are partly written");
  }
}

TEST(LayerBackward, gives_the_same_bits_for_any_number_of_threads) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    LayerCase c({.length = 300,
                 .channels = 192,
                 .query_heads = 6,
                 .kv_heads = 3,
                 .width = 32,
                 .value_width = 32,
                 .out_channels = 192,
                 .weights = weights});
    c.options.attention.causality = Causality::kCausal;
    for (const Target target : available_targets()) {
      std::vector<std::vector<unsigned char>> first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        const GradientMemory got(c, DType::kF32);
        const Report report =
            must(layer_backward(c.x.view, c.p, c.d_y.view, got.views(), c.options, on(target, threads)));
        EXPECT_EQ(report.threads, threads);
        std::vector<std::vector<unsigned char>> bits;
        for (const Placed* gradient : got.all()) bits.push_back(bits_of(gradient->view));
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << threads << " threads on " << to_string(target);
      }
    }
  }
}

TEST(LayerBackward, of_nothing_has_zero_gradients_of_the_parameters) {
  const LayerCase c({.batch = 0});
  const GradientMemory got(c, DType::kF32);
  must(layer_backward(c.x.view, c.p, c.d_y.view, got.views(), c.options));
  for (const Placed* gradient : got.all())
    for_each_element(gradient->view.shape, gradient->view.strides,
                     [&](std::int64_t at) { EXPECT_EQ(static_cast<float*>(gradient->view.data)[at], 0); });
}

TEST(LayerBackward, uses_a_fixed_workspace_and_no_more) {
  const LayerCase c({.length = 50});
  const GradientMemory first(c, DType::kF32), second(c, DType::kF32), third(c, DType::kF32);
  const std::size_t needed = must(layer_backward(c.x.view, c.p, c.d_y.view, first.views(), c.options)).scratch_bytes;
  std::vector<char> memory(needed + 64);
  Workspace fixed(memory.data(), memory.size()), small(memory.data(), memory.size() - 128);
  Execution execution;
  execution.workspace = &fixed;
  must(layer_backward(c.x.view, c.p, c.d_y.view, second.views(), c.options, execution));
  EXPECT_EQ(bits_of(second.dx.view), bits_of(first.dx.view));
  execution.workspace = &small;
  const Status status = layer_backward(c.x.view, c.p, c.d_y.view, third.views(), c.options, execution).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("this call needs " + std::to_string(needed + 64)), std::string::npos)
      << status.message();
  const GradientMemory untouched(c, DType::kF32);
  for (std::size_t i = 0; i < third.all().size(); ++i)
    EXPECT_EQ(bits_of(third.all()[i]->view), bits_of(untouched.all()[i]->view)) << i;
}

TEST(LayerBackward, refuses_as_the_reference_does) {
  const LayerCase c({});
  const GradientMemory got(c, DType::kF32);
  const Placed short_dy = empty_tensor(DType::kF32, {2, 7, 10});
  EXPECT_EQ(layer_backward(c.x.view, c.p, short_dy.view, got.views(), c.options).status().message(),
            reference::layer_backward(c.x.view, c.p, short_dy.view, c.options).status().message());
  LayerOptions options = c.options;
  options.attention.softcap = -1;
  EXPECT_EQ(layer_backward(c.x.view, c.p, c.d_y.view, got.views(), options).status().message(),
            reference::layer_backward(c.x.view, c.p, c.d_y.view, options).status().message());
}

TEST(LayerBackward, refuses_gradients_that_do_not_fit) {
  const LayerCase c({.weights = Weights::kFused, .biases = Presence::kAbsent});
  const auto message = [&](const LayerGradientViews& views) {
    return layer_backward(c.x.view, c.p, c.d_y.view, views, c.options).status().message();
  };
  const Placed matrix = empty_tensor(DType::kF32, {20, 24}), wide = empty_tensor(DType::kF64, {2, 7, 20});
  LayerGradientViews views;
  views.dwq = matrix.view;
  EXPECT_EQ(message(views), "layer: dwq is asked for, but the layer has no wq");
  views = {};
  views.dwqkv = matrix.view;
  EXPECT_EQ(message(views), "layer: dwqkv is [20,24]; expected [20,48], the shape of wqkv");
  views = {};
  views.dx = wide.view;
  EXPECT_EQ(message(views), "layer: dx is f64; expected f32, the type of x");
  views.dx = c.x.view;
  EXPECT_EQ(message(views), "layer: dx overlaps the memory of x; give it memory of its own");
  const Placed dx = empty_tensor(DType::kF32, {2, 7, 20});
  views.dx = dx.view;
  views.dgamma = dx.view;
  views.dgamma.shape = {20};
  views.dgamma.strides = {1};
  EXPECT_EQ(message(views), "layer: dgamma overlaps the memory of dx; give it memory of its own");
}

}  // namespace
}  // namespace qkv
