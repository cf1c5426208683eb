// What the tests of attention_decode share: caches made from a problem's tensors, and a run of one.
#ifndef QKV_TESTS_DECODE_TESTING_H_
#define QKV_TESTS_DECODE_TESTING_H_

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "qkv/decode.h"
#include "tests/attention_testing.h"

namespace qkv {

// A cache in one of the two forms, with its memory. Whatever holds no token is NaN, and so are unused pages.
struct TestCache {
  check::Placed k, v;
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> table32;
  std::vector<std::int64_t> table64;
  Dims table_shape;

  KeyValueCache view() {
    KeyValueCache cache{k.view, v.view, {}, lengths};
    if (!table32.empty()) cache.block_table = View<const std::int32_t>(table32.data(), table_shape);
    if (!table64.empty()) cache.block_table = View<const std::int64_t>(table64.data(), table_shape);
    return cache;
  }
};

// How the test keeps tokens: page 0 is a contiguous cache.
struct CacheForm {
  std::int64_t page = 0;
  DType table = DType::kI32;
  bool appends = true;  // the call appends the last t tokens; else they are there already
};

inline std::string to_string(const CacheForm& form) {
  std::string text = form.page == 0 ? "contiguous" : "pages of " + std::to_string(form.page);
  if (form.page > 0) text += std::string(", ") + std::string(to_string(form.table));
  return text + (form.appends ? ", appending" : ", attending only");
}

// Copies one row (the last axis) from index (a, h, i) of a tensor to index (b, h, j) of another of its type.
inline void copy_row(const View<const void>& from, std::int64_t a, std::int64_t i, const View<void>& to, std::int64_t b,
                     std::int64_t j, std::int64_t h) {
  const std::size_t size = size_of(from.dtype);
  for (std::int64_t c = 0; c < from.shape[3]; ++c)
    std::memcpy(
        static_cast<char*>(to.data) +
            static_cast<std::size_t>(b * to.strides[0] + h * to.strides[1] + j * to.strides[2] + c * to.strides[3]) *
                size,
        static_cast<const char*>(from.data) + static_cast<std::size_t>(a * from.strides[0] + h * from.strides[1] +
                                                                       i * from.strides[2] + c * from.strides[3]) *
                                                  size,
        size);
}

// The problem's keys and values, as far as its lengths (`lengths=`, or Tk) reach.
inline std::int64_t length_of(const check::Case& c, std::int64_t batch) {
  return c.problem.key_lengths.empty() ? c.problem.key_length : c.problem.key_lengths[static_cast<std::size_t>(batch)];
}

// Pages are numbered backwards, and a third one is used by nobody; table entries that hold no token are no page.
inline TestCache make_cache(const check::Case& c, const CacheForm& form, const check::Placement& placement = {}) {
  const Problem& p = c.problem;
  const std::int64_t new_tokens = form.appends ? p.query_length : 0;
  TestCache cache;
  for (std::int64_t b = 0; b < p.batch; ++b) cache.lengths.push_back(length_of(c, b) - new_tokens);
  const std::int64_t per_sequence = form.page == 0 ? 0 : (p.key_length + form.page - 1) / form.page;
  const std::int64_t pages = per_sequence * p.batch * 3 / 2 + 1;
  const std::int64_t outer = form.page == 0 ? p.batch : pages;
  const std::int64_t inner = form.page == 0 ? p.key_length : form.page;
  cache.k = must(check::place_empty(p.dtype, {outer, p.kv_heads, inner, p.width}, placement));
  cache.v = must(check::place_empty(p.dtype, {outer, p.kv_heads, inner, p.value_width}, placement));
  cache.table_shape = {p.batch, per_sequence};
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const std::int64_t length = length_of(c, b);
    for (std::int64_t entry = 0; entry < per_sequence; ++entry) {
      const std::int64_t number = b * per_sequence + entry;
      const std::int64_t page = entry * form.page < length ? pages - 1 - number * 3 / 2 : -1 - number;
      if (form.table == DType::kI32) cache.table32.push_back(static_cast<std::int32_t>(page));
      if (form.table == DType::kI64) cache.table64.push_back(page);
    }
    for (std::int64_t j = 0; j < length - new_tokens; ++j) {
      const std::int64_t page = form.page == 0 ? b : pages - 1 - (b * per_sequence + j / form.page) * 3 / 2;
      for (std::int64_t h = 0; h < p.kv_heads; ++h) {
        copy_row(c.k.view, b, j, cache.k.view, page, form.page == 0 ? j : j % form.page, h);
        copy_row(c.v.view, b, j, cache.v.view, page, form.page == 0 ? j : j % form.page, h);
      }
    }
  }
  return cache;
}

// The last t tokens of each sequence, as new ones.
struct NewTokens {
  check::Placed k, v;
};
inline NewTokens new_tokens(const check::Case& c, const check::Placement& placement = {}) {
  const Problem& p = c.problem;
  NewTokens made{must(check::place_empty(p.dtype, {p.batch, p.kv_heads, p.query_length, p.width}, placement)),
                 must(check::place_empty(p.dtype, {p.batch, p.kv_heads, p.query_length, p.value_width}, placement))};
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t h = 0; h < p.kv_heads; ++h)
      for (std::int64_t i = 0; i < p.query_length; ++i) {
        copy_row(c.k.view, b, length_of(c, b) - p.query_length + i, made.k.view, b, i, h);
        copy_row(c.v.view, b, length_of(c, b) - p.query_length + i, made.v.view, b, i, h);
      }
  return made;
}

// The problem's options without what a cache says itself.
inline AttentionOptions decode_options(const check::Case& c) {
  AttentionOptions options = c.options();
  options.key_lengths = {};
  options.corner = Corner::kUnset;
  options.causality = Causality::kNone;
  return options;
}

// What decode must give, as a forward call.
inline AttentionOptions forward_options(const check::Case& c) {
  AttentionOptions options = c.options();
  options.corner = Corner::kBottomRight;
  options.causality = Causality::kCausal;
  return options;
}

inline Ran run_decode(const check::Case& c, TestCache& cache, const CacheForm& form, const Execution& execution,
                      const check::Placement& placement = {}) {
  Problem problem = c.problem;
  problem.lse = true;
  Ran ran{must(check::make_outputs(problem, placement)), {}};
  DecodeInputs inputs{c.q.view, {}, {}};
  const NewTokens tokens = form.appends ? new_tokens(c, placement) : NewTokens();
  if (form.appends) {
    inputs.k = tokens.k.view;
    inputs.v = tokens.v.view;
  }
  ran.report = must(attention_decode(inputs, cache.view(), ran.outputs.views(), decode_options(c), execution),
                    format(c.problem) + ", " + to_string(form));
  return ran;
}

inline std::vector<CacheForm> all_forms() {
  return {{0, DType::kF32, true},   {0, DType::kF32, false}, {16, DType::kI32, true},
          {16, DType::kI64, false}, {3, DType::kI64, true},  {1, DType::kI32, false}};
}

}  // namespace qkv

#endif  // QKV_TESTS_DECODE_TESTING_H_
