// Scores, and the order of sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/mutants/naive_attention.h"

namespace mutants {
namespace {

using Index = std::int64_t;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

float pairwise(const std::vector<float>& terms, std::size_t from, std::size_t to) {
  if (to - from == 1) return terms[from];
  const std::size_t middle = from + (to - from) / 2;
  return pairwise(terms, from, middle) + pairwise(terms, middle, to);
}

}  // namespace

// The one place that adds: in the order, and in the type, that an edit chooses.
float NaiveAttention::summed(std::vector<float> terms) const {
  if (terms.empty()) return 0;
  if (edits_.has(Edit::kSumsPairwise)) return pairwise(terms, 0, terms.size());
  const bool is_f16 = edits_.has(Edit::kAccumulateF16);
  if (is_f16 || edits_.has(Edit::kSumsReversed)) std::reverse(terms.begin(), terms.end());
  float sum = 0;
  for (const float term : terms) sum = is_f16 ? p_.rounded_f16(sum + term) : sum + term;
  return sum;
}

float NaiveAttention::scale_of(Index j) const {
  const auto width = static_cast<float>(p_.width);
  const bool given = p_.scale && !edits_.has(Edit::kDefaultScaleAlways);
  float scale = given ? *p_.scale : 1 / std::sqrt(width);
  if (edits_.has(Edit::kNoScale) || edits_.has(Edit::kScaleAfterSoftmax)) scale = 1;
  if (edits_.has(Edit::kScaleTwice)) scale *= scale;
  if (edits_.has(Edit::kInverseWidth)) scale = 1 / width;
  if (edits_.has(Edit::kModelWidth)) scale = 1 / std::sqrt(static_cast<float>(p_.width * p_.heads));
  if (const Index to = edits_.whole(Edit::kPaddedScale); to > 0)
    scale = 1 / std::sqrt(static_cast<float>((p_.width + to - 1) / to * to));
  if (const Index block = edits_.whole(Edit::kScaleEachBlock); block > 0)
    for (Index before = 0; before < j / block; ++before) scale *= 1.44269504F;
  return edits_.has(Edit::kScaleRoot) ? std::sqrt(scale) * std::sqrt(scale) : scale;
}

float NaiveAttention::dot(Index b, Index h, Index i, Index j) const {
  Index width = p_.width;
  if (const Index to = edits_.whole(Edit::kWidthPadded); to > 0) width = (width + to - 1) / to * to;
  const float half = edits_.has(Edit::kScaleOnBoth) ? std::sqrt(std::fabs(scale_of(j))) : 1;
  std::vector<float> terms;
  for (Index c = 0; c < width; ++c) terms.push_back(query(b, h, i, c) * half * (key(b, h, j, c) * half));
  return summed(std::move(terms));
}

float NaiveAttention::cap(float x, std::size_t at) {
  const float t = std::tanh(x / *p_.softcap);
  slope_of_cap_[at] = 1 - t * t;
  return (edits_.has(Edit::kSoftcapTimesInput) ? x : *p_.softcap) * t;
}

// A constant for the row's scores, and for its sink.
float NaiveAttention::shift(Index b, Index h, Index i) const {
  if (edits_.has(Edit::kShiftedRows)) return 0.25F * static_cast<float>(i + 1);
  if (!edits_.has(Edit::kSlopesFromKeyZero) || p_.slopes.empty()) return 0;
  return p_.slopes[static_cast<std::size_t>(h)] * static_cast<float>(rows_of(b, i).position);
}

void NaiveAttention::score(Index b, Index h, Index i, Index j) {
  const std::size_t at = pair(b, h, i, j);
  const bool caps = p_.softcap && !edits_.has(Edit::kSoftcapIgnored);
  const bool early = edits_.has(Edit::kSoftcapBeforeScale);
  const bool late = edits_.has(Edit::kSoftcapAfterBias) || edits_.has(Edit::kSoftcapAfterMask);
  const float scale = scale_of(j);
  float s = dot(b, h, i, j);
  if (caps && early) s = cap(s, at);
  if (edits_.has(Edit::kScaleOnBoth)) {
    s = scale < 0 ? -s : s;
  } else {
    s *= scale;
  }
  if (caps && !early && !late) s = cap(s, at);
  const float added = bias(b, h, i, j);
  s += edits_.has(Edit::kScaleTimesBias) ? scale * added : added;
  if (!p_.slopes.empty() && !edits_.has(Edit::kSlopesIgnored)) {
    const float slope = p_.slopes[static_cast<std::size_t>(h)];
    const Index position = rows_of(b, i).position;
    const Index distance = position > j ? position - j : j - position;
    s -= slope * static_cast<float>(distance);
  }
  s += shift(b, h, i);
  if (edits_.has(Edit::kMaskAdded)) {
    if (p_.keep.data != nullptr) s += static_cast<float>(p_.keep.at(b, h, i, j));
    if (p_.key_mask.data != nullptr) s += static_cast<float>(p_.key_mask.at(b, 0, 0, j));
  }
  bool is_seen = visible(b, h, i, j);
  if (edits_.has(Edit::kMaskTimesInfinity)) {
    if (p_.keep.data != nullptr) s += (1 - static_cast<float>(p_.keep.at(b, h, i, j))) * kHidden;
    if (p_.key_mask.data != nullptr) s += (1 - static_cast<float>(p_.key_mask.at(b, 0, 0, j))) * kHidden;
  }
  if (!is_seen && edits_.has(Edit::kFillInF16)) {
    s = p_.rounded_f16(s - 65504);
    is_seen = true;
  } else if (!is_seen && edits_.has(Edit::kFillAdded)) {
    s += static_cast<float>(edits_.number(Edit::kFillAdded));
    is_seen = true;
  } else if (!is_seen && edits_.has(Edit::kFillReplaced)) {
    s = static_cast<float>(edits_.number(Edit::kFillReplaced));
    is_seen = true;
  } else if (!is_seen && caps && edits_.has(Edit::kSoftcapAfterMask)) {
    s = kHidden;
    is_seen = true;
  }
  if (caps && late) s = cap(s, at);
  scores_[at] = s;
  seen_[at] = is_seen;
}

}  // namespace mutants
