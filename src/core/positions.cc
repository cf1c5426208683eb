// Corners, windows and lengths turned into one range of keys a query.
#include "src/core/positions.h"

#include <algorithm>
#include <limits>
#include <string>

#include "src/core/status_macros.h"

namespace qkv {
namespace {

bool is_packed(const AttentionOptions& options) {
  return !options.cu_seqlens_q.empty() || !options.cu_seqlens_k.empty();
}

bool needs_corner(const AttentionOptions& options) {
  return options.causality == Causality::kCausal || options.window != Window{} || !options.slopes.empty();
}

std::string text(std::int64_t value) { return std::to_string(value); }

Status check_cumulative(std::string_view name, std::span<const std::int64_t> starts, std::int64_t total) {
  if (starts.empty() || starts.front() != 0 || starts.back() != total)
    return shape_mismatch(std::string(name) + " must run from 0 to " + text(total) + ", found " +
                          (starts.empty() ? "nothing" : text(starts.front()) + " to " + text(starts.back())));
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] < starts[i - 1])
      return invalid_argument(std::string(name) + " must not decrease, found " + text(starts[i - 1]) + " then " +
                              text(starts[i]) + " at index " + text(static_cast<std::int64_t>(i)));
  return {};
}

Status check_packed(const AttentionShape& shape, const AttentionOptions& options) {
  if (shape.batch != 1) return shape_mismatch("packed sequences need a batch of 1, found B = " + text(shape.batch));
  QKV_RETURN_IF_ERROR(check_cumulative("cu_seqlens_q", options.cu_seqlens_q, shape.query_length));
  QKV_RETURN_IF_ERROR(check_cumulative("cu_seqlens_k", options.cu_seqlens_k, shape.key_length));
  if (options.cu_seqlens_q.size() != options.cu_seqlens_k.size())
    return shape_mismatch("cu_seqlens_q has " + text(static_cast<std::int64_t>(options.cu_seqlens_q.size())) +
                          " entries but cu_seqlens_k " + text(static_cast<std::int64_t>(options.cu_seqlens_k.size())));
  return {};
}

Status check_lengths(const AttentionShape& shape, std::span<const std::int64_t> lengths) {
  if (static_cast<std::int64_t>(lengths.size()) != shape.batch)
    return shape_mismatch("key_lengths has " + text(static_cast<std::int64_t>(lengths.size())) +
                          " entries; expected [B] = " + text(shape.batch));
  for (std::size_t b = 0; b < lengths.size(); ++b)
    if (lengths[b] < 0 || lengths[b] > shape.key_length)
      return invalid_argument("key_lengths[" + text(static_cast<std::int64_t>(b)) + "] is " + text(lengths[b]) +
                              "; expected 0 to Tk = " + text(shape.key_length));
  return {};
}

// a + b, held inside the 64-bit range: offsets and windows may be as large as the type.
std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

Status check_positions(const AttentionShape& shape, const AttentionOptions& options) {
  if (is_packed(options)) QKV_RETURN_IF_ERROR(check_packed(shape, options));
  if (!options.key_lengths.empty()) QKV_RETURN_IF_ERROR(check_lengths(shape, options.key_lengths));
  constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // far beyond any tensor, and sums of two stay in 64 bits
  if (options.offset > kFarthest || options.offset < -kFarthest)
    return invalid_argument("offset " + text(options.offset) + " is beyond 2^60");
  if (options.corner != Corner::kUnset || !needs_corner(options)) return {};
  const Positions positions(shape, options);
  const std::int64_t distinct = options.key_lengths.empty() ? std::min<std::int64_t>(shape.batch, 1) : shape.batch;
  for (std::int64_t batch = 0; batch < distinct; ++batch)
    for (std::int64_t index = 0; index < positions.sequence_count(); ++index) {
      const Sequence sequence = positions.sequence(batch, index);
      const std::int64_t queries = sequence.query_end - sequence.query_begin;
      const std::int64_t keys = sequence.key_end - sequence.key_begin;
      if (queries != keys)
        return invalid_argument("causal, window and slopes depend on positions, and " + text(queries) +
                                " queries with " + text(keys) +
                                " keys leave the corner open; say top_left, bottom_right or an offset");
    }
  return {};
}

Positions::Positions(const AttentionShape& shape, const AttentionOptions& options)
    : causality_(options.causality),
      window_(options.window),
      corner_(options.corner),
      offset_(options.offset),
      query_length_(shape.query_length),
      key_length_(shape.key_length),
      key_lengths_(options.key_lengths),
      cu_seqlens_q_(options.cu_seqlens_q),
      cu_seqlens_k_(options.cu_seqlens_k) {}

std::int64_t Positions::sequence_count() const {
  return cu_seqlens_q_.empty() ? 1 : static_cast<std::int64_t>(cu_seqlens_q_.size()) - 1;
}

Sequence Positions::sequence(std::int64_t batch, std::int64_t index) const {
  Sequence sequence{0, query_length_, 0, key_length_, 0};
  if (!cu_seqlens_q_.empty()) {
    const auto i = static_cast<std::size_t>(index);
    sequence = {cu_seqlens_q_[i], cu_seqlens_q_[i + 1], cu_seqlens_k_[i], cu_seqlens_k_[i + 1], 0};
  }
  if (!key_lengths_.empty()) {
    const std::int64_t length = key_lengths_[static_cast<std::size_t>(batch)];
    sequence.key_end = std::max(sequence.key_begin, std::min(sequence.key_end, length));
  }
  if (corner_ == Corner::kBottomRight)
    sequence.offset = (sequence.key_end - sequence.key_begin) - (sequence.query_end - sequence.query_begin);
  else if (corner_ == Corner::kOffset)
    sequence.offset = offset_;
  return sequence;
}

Sequence Positions::sequence_of(std::int64_t batch, std::int64_t query) const {
  if (cu_seqlens_q_.empty()) return sequence(batch, 0);
  const auto next = std::upper_bound(cu_seqlens_q_.begin(), cu_seqlens_q_.end(), query);
  return sequence(batch, next - cu_seqlens_q_.begin() - 1);
}

KeyRange Positions::keys(const Sequence& sequence, std::int64_t query) const {
  std::int64_t begin = sequence.key_begin;
  std::int64_t end = sequence.key_end;
  const std::int64_t here = position(sequence, query);
  if (causality_ == Causality::kCausal) end = std::min(end, here + 1);
  if (window_.right >= 0)
    end = std::min(end, saturating_add(here, window_.right) == std::numeric_limits<std::int64_t>::max()
                            ? end
                            : saturating_add(here, window_.right) + 1);
  if (window_.left >= 0) begin = std::max(begin, saturating_add(here, -window_.left));
  end = std::max(end, sequence.key_begin);
  begin = std::min(begin, end);
  return {begin, end};
}

}  // namespace qkv
