// A layer that decodes piece by piece gives the rows of one causal forward pass: every form, type, cache and target.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/layer.h"
#include "tests/decode_testing.h"
#include "tests/layer_case.h"

namespace qkv {
namespace {

using check::Placed;

// Tokens [begin, begin + count) of a [B,T,C] tensor.
View<void> tokens(View<void> view, std::int64_t begin, std::int64_t count) {
  view.data = static_cast<char*>(view.data) + begin * view.strides[1] * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[1] = count;
  return view;
}

// An empty cache for a layer of that form; page 0: contiguous.
TestCache empty_cache(const LayerForm& f, std::int64_t page) {
  TestCache cache;
  const std::int64_t capacity = f.length + 2;
  const std::int64_t per_sequence = page == 0 ? 0 : (capacity + page - 1) / page;
  const std::int64_t outer = page == 0 ? f.batch : f.batch * per_sequence, inner = page == 0 ? capacity : page;
  cache.k = must(check::place_empty(f.dtype, {outer, f.kv_heads, inner, f.width}));
  cache.v = must(check::place_empty(f.dtype, {outer, f.kv_heads, inner, f.value_width}));
  cache.lengths.assign(static_cast<std::size_t>(f.batch), 0);
  cache.table_shape = {f.batch, per_sequence};
  for (std::int64_t entry = outer; page > 0 && entry-- > 0;) cache.table32.push_back(static_cast<std::int32_t>(entry));
  return cache;
}

void expect_right(const LayerCase& c, std::int64_t page) {
  const LayerForm& f = c.form();
  LayerOptions causal = c.options;
  causal.attention.causality = Causality::kCausal;
  const Tensor want = must(reference::layer_forward(c.x.view, c.p, causal));
  const Tensor plain = must(check::plain_layer_forward(c.x.view, c.p, causal));
  for (const Target target : available_targets()) {
    TestCache cache = empty_cache(f, page);
    const Placed y = c.empty_y();
    std::int64_t done = 0;
    for (const std::int64_t piece : {f.length - 5, std::int64_t{1}, std::int64_t{3}, std::int64_t{1}}) {
      const Report report = must(layer_decode(tokens(c.x.view, done, piece), c.p, cache.view(),
                                              tokens(y.view, done, piece), c.options, on(target)));
      done += piece;
      EXPECT_EQ(report.target, target);
      for (const std::int64_t length : cache.lengths) EXPECT_EQ(length, done);
    }
    expect_within(to_string(f) + " page " + std::to_string(page) + " on " + std::string(to_string(target)), y, want,
                  plain, Yardstick::kForward);
  }
}

TEST(LayerDecode, gives_the_rows_of_one_forward_pass_in_every_form) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused})
    for (const Norm norm : {Norm::kLayerNorm, Norm::kNone})
      for (const Presence output : {Presence::kPresent, Presence::kAbsent})
        for (const std::int64_t page : {0, 4})
          expect_right(LayerCase({.length = 13, .weights = weights, .norm = norm, .output = output}), page);
}

TEST(LayerDecode, gives_the_rows_of_one_forward_pass_in_every_type) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const Presence output : {Presence::kPresent, Presence::kAbsent})
      expect_right(LayerCase({.length = 23, .dtype = dtype, .output = output}), dtype == DType::kF32 ? 5 : 0);
}

TEST(LayerDecode, hands_the_options_to_attention) {
  LayerCase c({.length = 11});
  c.options.attention.window = {4, 0};
  c.options.attention.softcap = 3;
  expect_right(c, 0);
}

TEST(LayerDecode, gives_the_same_bits_for_any_number_of_threads) {
  const LayerCase c({.batch = 3,
                     .length = 1,
                     .channels = 512,
                     .query_heads = 8,
                     .kv_heads = 2,
                     .width = 64,
                     .value_width = 64,
                     .out_channels = 512});
  for (const Target target : available_targets()) {
    std::vector<unsigned char> first;
    for (const int threads : {1, 2, 3, 5, 8}) {
      TestCache cache = empty_cache(c.form(), 0);
      const Placed y = c.empty_y();
      must(layer_decode(c.x.view, c.p, cache.view(), y.view, c.options, on(target, threads)));
      if (first.empty()) first = bits_of(y.view);
      EXPECT_EQ(bits_of(y.view), first) << threads << " threads on " << to_string(target);
    }
  }
}

TEST(LayerDecode, changes_nothing_when_it_refuses) {
  const LayerCase c({.length = 9});
  TestCache cache = empty_cache(c.form(), 0);
  const Placed y = c.empty_y();
  must(layer_decode(c.x.view, c.p, cache.view(), y.view, c.options));
  const std::vector<unsigned char> k = bits_of(cache.k.view), before = bits_of(y.view);
  const Status full = layer_decode(c.x.view, c.p, cache.view(), y.view, c.options).status();
  EXPECT_EQ(full.code(), StatusCode::kInvalidArgument) << full.message();
  EXPECT_EQ(layer_decode(c.x.view, c.p, cache.view(), cache.k.view, c.options).code(), StatusCode::kShapeMismatch);
  KeyValueCache other = cache.view();
  other.k = tokens(c.x.view, 0, 9);
  EXPECT_EQ(layer_decode(c.x.view, c.p, other, y.view, c.options).status().message(),
            "layer: the cache's k overlaps the memory of x; give it memory of its own");
  EXPECT_EQ(bits_of(cache.k.view), k);
  EXPECT_EQ(bits_of(y.view), before);
  for (const std::int64_t length : cache.lengths) EXPECT_EQ(length, 9);
}

TEST(LayerDecode, uses_a_fixed_workspace_and_no_more) {
  const LayerCase c({.length = 1});
  TestCache cache = empty_cache(c.form(), 0);
  const Placed y = c.empty_y();
  const std::size_t needed = must(layer_decode(c.x.view, c.p, cache.view(), y.view, c.options)).scratch_bytes;
  std::vector<char> memory(needed + 64);
  Workspace fixed(memory.data(), memory.size()), small(memory.data(), memory.size() - 128);
  Execution execution;
  execution.workspace = &small;
  EXPECT_EQ(layer_decode(c.x.view, c.p, cache.view(), y.view, c.options, execution).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cache.lengths[0], 1);
  execution.workspace = &fixed;
  must(layer_decode(c.x.view, c.p, cache.view(), y.view, c.options, execution));
  EXPECT_EQ(cache.lengths[0], 2);
}

}  // namespace
}  // namespace qkv
