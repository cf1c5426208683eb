// Rows of tokens and stale rows, copied to where they belong or do not.
#include "src/check/variant_cache.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using enum MistakeId;

// Row (b,h,to) of a cache becomes row (b,h,from) of `source`.
struct RowCopy {
  std::int64_t b, from, to;
};

void copy_row(const View<const void>& source, Tensor& cache, const RowCopy& copy) {
  const View<void> to = cache.view();
  const auto bytes = static_cast<std::int64_t>(size_of(to.dtype));
  const auto at = [&copy](const Dims& strides, std::int64_t h, std::int64_t row, std::int64_t c) {
    return copy.b * strides[0] + h * strides[1] + row * strides[2] + c * strides[3];
  };
  for (std::int64_t h = 0; h < to.shape[1]; ++h)
    for (std::int64_t c = 0; c < to.shape[3]; ++c)
      std::memcpy(static_cast<char*>(to.data) + at(to.strides, h, copy.to, c) * bytes,
                  static_cast<const char*>(source.data) + at(source.strides, h, copy.from, c) * bytes,
                  static_cast<std::size_t>(bytes));
}

std::vector<std::int64_t> lengths_after(const Problem& problem) {
  if (!problem.key_lengths.empty()) return problem.key_lengths;
  return std::vector<std::int64_t>(static_cast<std::size_t>(problem.batch), problem.key_length);
}

// Where new token t of batch b is written, by an implementation that takes the step to end at `length`.
std::int64_t slot_of(std::int64_t t, std::int64_t length, const Problem& problem, const MistakeSet& mistakes) {
  const std::int64_t count = problem.query_length;
  const std::int64_t first = length - count;
  if (mistakes.has(kCacheNewOverLast)) return first - count + t;
  if (mistakes.has(kCacheSlotSkipped)) return first + t + 1;
  if (mistakes.has(kCacheNewReversed)) return first + count - 1 - t;
  return first + t;
}

}  // namespace

Result<CacheState> cache_before(const Case& asked) {
  CacheState cache;
  QKV_ASSIGN_OR_RETURN(cache.k, converted(asked.stale_k.view, asked.problem.dtype));
  QKV_ASSIGN_OR_RETURN(cache.v, converted(asked.stale_v.view, asked.problem.dtype));
  cache.lengths = lengths_after(asked.problem);
  for (std::int64_t b = 0; b < asked.problem.batch; ++b) {
    std::int64_t& length = cache.lengths[static_cast<std::size_t>(b)];
    length -= asked.problem.query_length;
    for (std::int64_t j = 0; j < length; ++j) {
      copy_row(asked.k.view, cache.k, {b, j, j});
      copy_row(asked.v.view, cache.v, {b, j, j});
    }
  }
  return cache;
}

Result<CacheState> new_tokens(const Case& asked) {
  const Problem& p = asked.problem;
  CacheState tokens;
  QKV_ASSIGN_OR_RETURN(tokens.k, Tensor::zeros(p.dtype, {p.batch, p.kv_heads, p.query_length, p.width}));
  QKV_ASSIGN_OR_RETURN(tokens.v, Tensor::zeros(p.dtype, {p.batch, p.kv_heads, p.query_length, p.value_width}));
  tokens.lengths = lengths_after(p);
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.query_length; ++t) {
      const std::int64_t from = tokens.lengths[static_cast<std::size_t>(b)] - p.query_length + t;
      copy_row(asked.k.view, tokens.k, {b, from, t});
      copy_row(asked.v.view, tokens.v, {b, from, t});
    }
  return tokens;
}

Result<CacheState> cache_after(const Case& asked, const MistakeSet& mistakes) {
  const Problem& problem = asked.problem;
  QKV_ASSIGN_OR_RETURN(CacheState cache, cache_before(asked));
  const std::vector<std::int64_t> right = lengths_after(problem);
  cache.lengths = right;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const auto at = static_cast<std::size_t>(b);
    if (mistakes.has(kCacheLengthOfFirst)) cache.lengths[at] = right[0];
    for (std::int64_t t = 0; t < problem.query_length; ++t) {
      const std::int64_t slot = slot_of(t, cache.lengths[at], problem, mistakes);
      if (slot < 0 || slot >= problem.key_length) continue;
      const std::int64_t from = right[at] - problem.query_length + t;
      copy_row(asked.k.view, cache.k, {b, from, slot});
      copy_row(asked.v.view, cache.v, {b, from, slot});
    }
    // The old length, to which what is written over the old tokens adds none.
    if (mistakes.has(kCacheNewOverLast) || mistakes.has(kCacheNewDropped)) cache.lengths[at] -= problem.query_length;
  }
  return cache;
}

Result<VariantResult> compute_decode_variant(const Case& asked, View<const void> q, std::span<const double> sinks,
                                             std::span<const Mistake> mistakes) {
  const MistakeSet set(mistakes);
  QKV_ASSIGN_OR_RETURN(CacheState cache, cache_after(asked, set));
  AttentionOptions options = asked.options();
  options.sinks = sinks;
  options.key_lengths = cache.lengths;
  if (set.has(kCacheNewDropped)) options.causality = Causality::kNone;  // every old token is behind every query
  QKV_ASSIGN_OR_RETURN(
      VariantResult result,
      compute_variant({q, std::as_const(cache.k).view(), std::as_const(cache.v).view()}, options, {}, {}, mistakes));
  result.cache_k = std::move(cache.k);
  result.cache_v = std::move(cache.v);
  return result;
}

}  // namespace qkv::check
