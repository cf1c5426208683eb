// What must hold between two calls of attention_forward, for random problems on random targets.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/attention_testing.h"
#include "tests/random_problems.h"

namespace qkv {
namespace {

// Two right results may differ by the error of each.
constexpr double kBoth = 2;

struct Drawn {
  check::Case c;
  check::ForwardExpectation expectation;
  Target target;
};

// A random problem after `shape` had its say, its tensors, what is right, and a target to run on.
Drawn draw(const std::function<void(Problem&)>& shape) {
  const Problem problem = draw_problem([&](Problem& p) {
    p.backward = p.dlse = false;
    shape(p);
  });
  const std::string line = format(problem);
  check::Case c = must(check::generate(problem), line);
  check::ForwardExpectation expectation =
      must(check::expect_forward(c.inputs(), c.options(), check::output_type(problem)), line);
  return {std::move(c), std::move(expectation), *rc::gen::elementOf(available_targets())};
}

std::string name_of(const Drawn& d) { return format(d.c.problem) + " on " + std::string(to_string(d.target)); }

Tensor as_f64(View<const void> view) { return must(converted(view, DType::kF64)); }

// Compares two results that should be alike, under twice the bound of one.
void expect_alike(const Drawn& d, View<const void> got, View<const void> want, check::Bound bound) {
  bound.absolute *= kBoth;
  bound.relative *= kBoth;
  const Tensor exact = as_f64(want);
  const check::Comparison comparison = must(check::compare(got, exact.view(), bound));
  if (!comparison.passed) RC_FAIL(name_of(d) + "\n" + to_string(comparison));
}

void no_positions(Problem& p) {
  p.causality = Causality::kNone;
  p.window = {};
  p.corner = Corner::kUnset;
  p.offset = 0;
  p.slopes = false;
}

void no_sequences(Problem& p) { p.key_lengths = p.cu_seqlens_q = p.cu_seqlens_k = {}; }

void not_empty(Problem& p) { RC_PRE(p.batch > 0 && p.kv_heads > 0 && p.query_length > 0 && p.key_length > 0); }

void no_masks(Problem& p) {
  p.keep.reset();
  p.bias.reset();
  p.key_mask = false;
}

// Axes [begin, end) along `axis` of a view, in place.
View<void> slice(View<void> view, int axis, std::int64_t begin, std::int64_t end) {
  auto* data =
      static_cast<char*>(view.data) + begin * view.strides[axis] * static_cast<std::int64_t>(size_of(view.dtype));
  Dims shape = view.shape;
  shape[axis] = end - begin;
  return View<void>(data, view.dtype, shape, view.strides);
}

// The part of a mask or bias that belongs to [begin, end) of an axis of [B,Hq,Tq,Tk]; whole where it broadcasts.
View<void> slice_scores(View<void> view, int axis, std::int64_t begin, std::int64_t end) {
  const int own = axis - (kMaxRank - view.shape.rank());
  if (!view.is_present() || own < 0 || view.shape[own] == 1) return view;
  return slice(view, own, begin, end);
}

TEST(Properties, every_target_is_within_the_bound_of_float64) {
  hold("forward = float64", [] {
    const Drawn d = draw([](Problem&) {});
    const Ran ran = run_case(d.c, on(d.target));
    const check::ForwardVerdict verdict = must(check::judge(d.expectation, ran.outputs.o.view, ran.outputs.lse.view));
    if (!verdict.passed()) RC_FAIL(name_of(d) + "\n" + to_string(verdict));
  });
}

TEST(Properties, a_constant_added_to_a_row_of_scores_shifts_lse_and_leaves_o) {
  hold("shift invariance", [] {
    Drawn d = draw([](Problem& p) {
      not_empty(p);
      p.sinks = false;  // a sink's logit does not shift along
      p.bias = Dims{p.batch, p.query_heads, p.query_length, 1};
      p.dtype = DType::kF64;  // halves would round the shifted bias
      p.out_dtype.reset();
    });
    const Ran before = run_case(d.c, on(d.target));
    for_each_element(d.c.bias.view.shape, d.c.bias.view.strides, [&](std::int64_t at) {
      set_element(d.c.bias.view, at, element_as_double(d.c.bias.view, at) + 8);
    });
    const Ran after = run_case(d.c, on(d.target));
    // Adding 8 rounds each score once more.
    check::Bound bound = d.expectation.o;
    bound.absolute += 1e-13;
    expect_alike(d, after.outputs.o.view, before.outputs.o.view, bound);
    const Tensor lse = as_f64(before.outputs.lse.view);
    for (std::int64_t i = 0; i < lse.size(); ++i)
      if (std::isfinite(lse.data<double>()[i]))
        RC_ASSERT(std::fabs(element_as_double(after.outputs.lse.view, i) - lse.data<double>()[i] - 8) < 1e-12);
  });
}

// Row j of `to` becomes row order[j] of `from`, along `axis`.
void permute(View<void> from, View<void> to, int axis, const std::vector<std::int64_t>& order) {
  for (std::size_t j = 0; j < order.size(); ++j) {
    const View<void> source = slice(from, axis, order[j], order[j] + 1);
    const View<void> target = slice(to, axis, static_cast<std::int64_t>(j), static_cast<std::int64_t>(j) + 1);
    std::vector<double> values;
    for_each_element(source.shape, source.strides,
                     [&](std::int64_t at) { values.push_back(element_as_double(source, at)); });
    std::size_t next = 0;
    for_each_element(target.shape, target.strides, [&](std::int64_t at) { set_element(target, at, values[next++]); });
  }
}

TEST(Properties, keys_permuted_together_with_their_masks_change_nothing) {
  hold("key permutation", [] {
    const Drawn d = draw([](Problem& p) {
      no_positions(p);
      no_sequences(p);
    });
    const std::int64_t keys = d.c.problem.key_length;
    std::vector<std::int64_t> order(static_cast<std::size_t>(keys));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t j = order.size(); j > 1; --j) std::swap(order[j - 1], order[*rc::gen::inRange<std::size_t>(0, j)]);
    const check::Case shuffled = must(check::generate(d.c.problem));
    permute(d.c.k.view, shuffled.k.view, 2, order);
    permute(d.c.v.view, shuffled.v.view, 2, order);
    if (d.c.problem.key_mask) permute(d.c.key_mask.view, shuffled.key_mask.view, 1, order);
    for (const auto& [from, to] : {std::pair(d.c.keep.view, shuffled.keep.view), {d.c.bias.view, shuffled.bias.view}}) {
      const int last = from.shape.rank() - 1;
      if (from.is_present() && from.shape[last] == keys) permute(from, to, last, order);
    }
    const Ran before = run_case(d.c, on(d.target));
    const Ran after = run_case(shuffled, on(d.target));
    expect_alike(d, after.outputs.o.view, before.outputs.o.view, d.expectation.o);
    expect_alike(d, after.outputs.lse.view, before.outputs.lse.view, d.expectation.lse);
  });
}

// o and lse of two disjoint sets of keys, merged as a split over the keys merges them.
void merge(Ran& into, const Ran& other) {
  const View<void> o = into.outputs.o.view, other_o = other.outputs.o.view;
  const View<void> lse = into.outputs.lse.view;
  std::int64_t row = 0;
  for_each_element(lse.shape, lse.strides, [&](std::int64_t at) {
    const double a = element_as_double(lse, at), b = element_as_double(other.outputs.lse.view, at);
    const double largest = std::max(a, b);
    const double empty = -std::numeric_limits<double>::infinity();
    const double both = largest == empty ? empty : largest + std::log(std::exp(a - largest) + std::exp(b - largest));
    for (std::int64_t column = 0; column < o.shape[3]; ++column) {
      const std::int64_t own = row * o.shape[3] + column;
      const double mixed = both == empty ? 0
                                         : std::exp(a - both) * element_as_double(o, own) +
                                               std::exp(b - both) * element_as_double(other_o, own);
      set_element(o, own, mixed);
    }
    set_element(lse, at, both);
    ++row;
  });
}

TEST(Properties, two_halves_of_the_keys_merge_into_the_whole) {
  hold("split = whole", [] {
    const Drawn d = draw([](Problem& p) {
      no_positions(p);
      no_sequences(p);
      p.sinks = false;
      p.layout = Layout::kBHTD;
      if (p.dtype == DType::kBF16 || p.dtype == DType::kF16) p.out_dtype = DType::kF32;
    });
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, d.c.problem.key_length + 1);
    const auto half = [&](std::int64_t begin, std::int64_t end) {
      Problem problem = d.c.problem;
      problem.lse = true;
      AttentionOptions options = d.c.options();
      options.keep = slice_scores(d.c.keep.view, 3, begin, end);
      options.bias = slice_scores(d.c.bias.view, 3, begin, end);
      if (problem.key_mask) options.key_mask = slice(d.c.key_mask.view, 1, begin, end);
      Ran ran{must(check::make_outputs(problem)), {}};
      ran.report =
          must(attention_forward({d.c.q.view, slice(d.c.k.view, 2, begin, end), slice(d.c.v.view, 2, begin, end)},
                                 ran.outputs.views(), options, on(d.target)));
      return ran;
    };
    Ran merged = half(0, cut);
    merge(merged, half(cut, d.c.problem.key_length));
    const Ran whole = run_case(d.c, on(d.target));
    // Each half has an error of its own, and so has the merge in f32.
    check::Bound bound = d.expectation.o;
    bound.absolute = 2 * bound.absolute;
    bound.relative = 2 * bound.relative;
    expect_alike(d, merged.outputs.o.view, whole.outputs.o.view, bound);
    expect_alike(d, merged.outputs.lse.view, whole.outputs.lse.view, d.expectation.lse);
  });
}

TEST(Properties, grouped_heads_equal_repeated_ones) {
  hold("grouped = repeated", [] {
    const Drawn d = draw(not_empty);
    const std::int64_t group = d.c.problem.query_heads / d.c.problem.kv_heads;
    std::vector<std::int64_t> order(static_cast<std::size_t>(d.c.problem.query_heads));
    for (std::size_t h = 0; h < order.size(); ++h) order[h] = static_cast<std::int64_t>(h) / group;
    Problem repeated = d.c.problem;
    repeated.kv_heads = repeated.query_heads;
    const check::Case wide = must(check::generate(repeated));
    permute(d.c.q.view, wide.q.view, 1, [&] {
      std::vector<std::int64_t> same(order.size());
      std::iota(same.begin(), same.end(), 0);
      return same;
    }());
    permute(d.c.k.view, wide.k.view, 1, order);
    permute(d.c.v.view, wide.v.view, 1, order);
    const Ran grouped = run_case(d.c, on(d.target));
    const Ran one_by_one = run_case(wide, on(d.target));
    expect_alike(d, grouped.outputs.o.view, one_by_one.outputs.o.view, d.expectation.o);
    expect_alike(d, grouped.outputs.lse.view, one_by_one.outputs.lse.view, d.expectation.lse);
  });
}

TEST(Properties, prefill_equals_step_by_step) {
  hold("prefill = step by step", [] {
    const Drawn d = draw([](Problem& p) {
      not_empty(p);
      no_sequences(p);
      p.causality = Causality::kCausal;
      p.corner = Corner::kBottomRight;
      p.offset = 0;
      if (p.window.right >= 0) p.window.right = -1;  // causal has closed that side
    });
    const Ran whole = run_case(d.c, on(d.target));
    const std::int64_t queries = d.c.problem.query_length, keys = d.c.problem.key_length;
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t seen = keys - queries + i + 1;  // what the cache holds at this step
      if (seen < 0) continue;
      Problem step = d.c.problem;
      step.query_length = 1;
      step.lse = true;
      AttentionOptions options = d.c.options();
      options.keep = slice_scores(slice_scores(d.c.keep.view, 2, i, i + 1), 3, 0, seen);
      options.bias = slice_scores(slice_scores(d.c.bias.view, 2, i, i + 1), 3, 0, seen);
      if (d.c.problem.key_mask) options.key_mask = slice(d.c.key_mask.view, 1, 0, seen);
      Ran ran{must(check::make_outputs(step)), {}};
      ran.report = must(attention_forward(
          {slice(d.c.q.view, 2, i, i + 1), slice(d.c.k.view, 2, 0, seen), slice(d.c.v.view, 2, 0, seen)},
          ran.outputs.views(), options, on(d.target)));
      expect_alike(d, ran.outputs.o.view, slice(whole.outputs.o.view, 2, i, i + 1), d.expectation.o);
      expect_alike(d, ran.outputs.lse.view, slice(whole.outputs.lse.view, 2, i, i + 1), d.expectation.lse);
    }
  });
}

TEST(Properties, a_batch_equals_its_entries_one_by_one) {
  hold("batch = its entries", [] {
    const Drawn d = draw([](Problem&) {});
    const Ran whole = run_case(d.c, on(d.target));
    for (std::int64_t b = 0; b < d.c.problem.batch; ++b) {
      Problem one = d.c.problem;
      one.batch = 1;
      one.lse = true;
      AttentionOptions options = d.c.options();
      options.keep = slice_scores(d.c.keep.view, 0, b, b + 1);
      options.bias = slice_scores(d.c.bias.view, 0, b, b + 1);
      if (one.key_mask) options.key_mask = slice(d.c.key_mask.view, 0, b, b + 1);
      if (!options.key_lengths.empty())
        options.key_lengths = options.key_lengths.subspan(static_cast<std::size_t>(b), 1);
      Ran ran{must(check::make_outputs(one)), {}};
      ran.report = must(attention_forward(
          {slice(d.c.q.view, 0, b, b + 1), slice(d.c.k.view, 0, b, b + 1), slice(d.c.v.view, 0, b, b + 1)},
          ran.outputs.views(), options, on(d.target)));
      RC_ASSERT(bits_of(slice(whole.outputs.o.view, 0, b, b + 1)) == ran.o_bits());
      RC_ASSERT(bits_of(slice(whole.outputs.lse.view, 0, b, b + 1)) == ran.lse_bits());
    }
  });
}

TEST(Properties, a_scale_folded_into_q_changes_nothing) {
  hold("scale folding", [] {
    const Drawn d = draw([](Problem& p) { p.scale = *rc::gen::element(0.5, -0.25, 2.0, 1.0); });
    check::Case folded = must(check::generate(d.c.problem));
    for_each_element(folded.q.view.shape, folded.q.view.strides, [&](std::int64_t at) {
      set_element(folded.q.view, at,
                  element_as_double(folded.q.view, at) * *d.c.problem.scale);  // exact: powers of two
    });
    folded.problem.scale = 1;
    const Ran before = run_case(d.c, on(d.target));
    const Ran after = run_case(folded, on(d.target));
    expect_alike(d, after.outputs.o.view, before.outputs.o.view, d.expectation.o);
    expect_alike(d, after.outputs.lse.view, before.outputs.lse.view, d.expectation.lse);
  });
}

TEST(Properties, values_of_one_give_one) {
  hold("v = 1 gives 1", [] {
    const Drawn d = draw([](Problem& p) { p.sinks = false; });
    for_each_element(d.c.v.view.shape, d.c.v.view.strides, [&](std::int64_t at) { set_element(d.c.v.view, at, 1); });
    const Ran ran = run_case(d.c, on(d.target));
    const View<void> o = ran.outputs.o.view;
    const Tensor lse = as_f64(ran.outputs.lse.view);
    const Tensor values = as_f64(o);
    // The quotient of two sums of the same weights, each rounded by half an ulp a key.
    const double allowed = static_cast<double>(d.c.problem.key_length + 4) * check::ulp(d.c.problem.dtype, 1);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const bool empty = lse.data<double>()[i / o.shape[3]] == -std::numeric_limits<double>::infinity();
      RC_ASSERT(std::fabs(values.data<double>()[i] - (empty ? 0 : 1)) <= allowed);
    }
  });
}

TEST(Properties, masks_that_hide_nothing_change_no_bit) {
  hold("open masks", [] {
    const Drawn d = draw([](Problem& p) {
      no_masks(p);
      no_positions(p);
    });
    const Ran plain = run_case(d.c, on(d.target));
    Problem masked = d.c.problem;
    masked.keep = Dims{masked.query_length, masked.key_length};
    masked.key_mask = true;
    const check::Case c = must(check::generate(masked));
    for (const View<void>& view : {c.keep.view, c.key_mask.view})
      for_each_element(view.shape, view.strides, [&](std::int64_t at) { set_element(view, at, 1); });
    const Ran open = run_case(c, on(d.target));
    RC_ASSERT(open.o_bits() == plain.o_bits());
    RC_ASSERT(open.lse_bits() == plain.lse_bits());
  });
}

}  // namespace
}  // namespace qkv
