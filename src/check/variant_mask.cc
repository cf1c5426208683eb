// Masks, positions, bias and slopes with the mistakes that are made in them.
#include "src/check/variant_mask.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "src/ops/attention/attention_ref_row.h"

namespace qkv::check {
namespace {

using enum MistakeId;
using reference::RowIndex;

bool is_given(const AttentionShape& shape, const AttentionOptions& options, std::int64_t dropper) {
  switch (dropper) {
    case kWithMask: return options.keep.is_present() || options.key_mask.is_present();
    case kWithBias: return options.bias.is_present();
    case kWithWindow: return options.window != Window{};
    case kWithSoftcap: return options.softcap.has_value();
    case kWithSinks: return !options.sinks.empty();
    case kWithLengths: return !options.key_lengths.empty();
    default: return shape.group() > 1;
  }
}

bool drops_causal(const AttentionShape& shape, const AttentionOptions& options, const MistakeSet& mistakes) {
  const Mistake* dropped = mistakes.find(kCausalIgnoredWith);
  return mistakes.has(kCausalIgnored) ||
         (dropped != nullptr && is_given(shape, options, static_cast<std::int64_t>(dropped->parameter)));
}

// A side of the window as it is read; open sides stay open.
std::int64_t mistaken_side(std::int64_t side, const MistakeSet& mistakes, MistakeId off, MistakeId open) {
  if (side < 0 || mistakes.has(open)) return VariantMask::kOpen;
  return side + mistakes.parameter(off);
}

struct MaskIndex {
  std::int64_t row, column;
};

// Where (i,j) is read in a mask whose axes are exchanged: its memory as [Tk,Tq], or, where one of the axes broadcasts,
// along the other one.
MaskIndex exchanged(const AttentionShape& shape, const View<const void>& mask, std::int64_t i, std::int64_t j) {
  if (mask.strides[2] == 0 || mask.strides[3] == 0) return {j % shape.query_length, i % shape.key_length};
  const std::int64_t flat = j * shape.query_length + i;
  return {flat / shape.key_length, flat % shape.key_length};
}

}  // namespace

AttentionOptions without_what_is_ignored(const AttentionShape& shape, const AttentionOptions& options,
                                         const MistakeSet& mistakes) {
  AttentionOptions read = options;
  const bool is_causal = options.causality == Causality::kCausal;
  if (drops_causal(shape, options, mistakes)) read.causality = Causality::kNone;
  const bool has_mask = options.keep.is_present() || options.key_mask.is_present();
  if (mistakes.has(kWindowIgnored) || (mistakes.has(kWindowIgnoredAlone) && !is_causal && !has_mask)) read.window = {};
  if (mistakes.has(kMaskIgnored) || (mistakes.has(kMaskIgnoredIfCausal) && is_causal)) read.keep = {};
  if (mistakes.has(kKeyMaskIgnored)) read.key_mask = {};
  if (mistakes.has(kLengthsIgnored)) read.key_lengths = {};
  if (mistakes.has(kBiasIgnored)) read.bias = {};
  if (mistakes.has(kSlopesIgnored)) read.slopes = {};
  if (mistakes.has(kSoftcapIgnored)) read.softcap.reset();
  if (mistakes.has(kSinkIgnored)) read.sinks = {};
  if (mistakes.has(kScaleIgnored)) read.scale.reset();
  if (mistakes.has(kCornerTopLeft)) read.corner = Corner::kTopLeft;
  if (mistakes.has(kCornerBottomRight)) read.corner = Corner::kBottomRight;
  return read;
}

VariantMask::VariantMask(const AttentionShape& shape, const AttentionOptions& options, const MistakeSet& mistakes,
                         bool is_open)
    : shape_(shape),
      options_(options),
      mistakes_(mistakes),
      positions_(shape, options),
      is_open_(is_open),
      causal_(options.causality == Causality::kCausal),
      left_(mistaken_side(options.window.left, mistakes, kWindowLeftOff, kWindowLeftOpen)),
      right_(mistaken_side(options.window.right, mistakes, kWindowRightOff, kWindowRightOpen)) {
  if (options.keep.is_present()) keep_ = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) bias_ = broadcast_to_scores(shape, options.bias);
}

std::int64_t VariantMask::mask_batch(RowIndex at) const {
  return mistakes_.has(kMaskBatchTiled) ? (at.b * shape_.query_heads + at.h) % shape_.batch : at.b;
}

bool VariantMask::inverts(BooleanMask mask) const {
  const std::int64_t which = mistakes_.parameter(kMaskInverted);
  return mistakes_.has(kMaskInverted) && (which == 0 || which == mask);
}

bool VariantMask::kept(RowIndex at, std::int64_t j) const {
  const MaskIndex from = mistakes_.has(kMaskTransposed) ? exchanged(shape_, keep_, at.i, j) : MaskIndex{at.i, j};
  const double keep = reference::element_at(keep_, mask_batch(at), at.h, from.row, from.column);
  return (keep != 0) != inverts(kPairs);
}

double VariantMask::added(RowIndex at, std::int64_t j) const {
  if (!mistakes_.has(kMaskAdded)) return 0;
  double sum = keep_.is_present() && kept(at, j) ? 1 : 0;
  if (options_.key_mask.is_present())
    sum += element_as_double(options_.key_mask, at.b * options_.key_mask.strides[0] + j * options_.key_mask.strides[1]);
  return sum;
}

bool VariantMask::allowed_by_keys(RowIndex at, const Sequence& sequence, std::int64_t j) const {
  const bool leaks = mistakes_.has(kPackLeaks) && !options_.cu_seqlens_k.empty();
  if (!leaks && (j < sequence.key_begin || j >= sequence.key_end)) return false;
  if (const std::int64_t tile = mistakes_.parameter(kLastKeysDropped); tile > 0)
    if (j >= shape_.key_length / tile * tile) return false;
  if (mistakes_.has(kMaskAdded)) return true;
  if (keep_.is_present() && !kept(at, j)) return false;
  const View<const void>& mask = options_.key_mask;
  if (!mask.is_present()) return true;
  const std::int64_t key = mistakes_.has(kKeyMaskAcrossQueries) ? at.i % shape_.key_length : j;
  return (element_as_double(mask, mask_batch(at) * mask.strides[0] + key * mask.strides[1]) != 0) != inverts(kPadding);
}

std::int64_t VariantMask::causal_limit(RowIndex at, std::int64_t position) const {
  std::int64_t limit = position;
  if (const std::int64_t rows = mistakes_.parameter(kCausalPerBlock); rows > 0)
    limit += std::min(at.i / rows * rows + rows, shape_.query_length) - 1 - at.i;
  if (mistakes_.has(kCausalStrict)) --limit;
  if (mistakes_.has(kCausalAhead)) ++limit;
  return limit;
}

bool VariantMask::allowed_by_position(RowIndex at, std::int64_t position, std::int64_t j) const {
  const bool first_row_free = at.i == 0 && mistakes_.has(kCausalSkipsFirstRow);
  if (causal_ && !first_row_free && j > causal_limit(at, position)) return false;
  if (left_ != kOpen && j < position - left_) return false;
  return right_ == kOpen || j <= position + right_;
}

bool VariantMask::allowed(RowIndex at, std::int64_t j) const {
  if (is_open_) return true;
  const Sequence sequence = positions_.sequence_of(at.b, at.i);
  return allowed_by_keys(at, sequence, j) && allowed_by_position(at, Positions::position(sequence, at.i), j);
}

std::int64_t VariantMask::bias_head(std::int64_t h) const {
  if (mistakes_.has(kBiasHeadsReversed)) return shape_.query_heads - 1 - h;
  if (mistakes_.has(kBiasOfFirstHead)) return 0;
  if (mistakes_.has(kBiasOfKvHead)) return h / shape_.group();
  return h;
}

double VariantMask::bias(RowIndex at, std::int64_t j) const {
  if (!bias_.is_present()) return 0;
  const MaskIndex from = mistakes_.has(kBiasTransposed) ? exchanged(shape_, bias_, at.i, j) : MaskIndex{at.i, j};
  return reference::element_at(bias_, at.b, bias_head(at.h), from.row, from.column);
}

double VariantMask::slope(RowIndex at, std::int64_t j) const {
  if (options_.slopes.empty()) return 0;
  const std::int64_t position = Positions::position(positions_.sequence_of(at.b, at.i), at.i);
  return options_.slopes[static_cast<std::size_t>(at.h)] * static_cast<double>(std::abs(position - j));
}

}  // namespace qkv::check
