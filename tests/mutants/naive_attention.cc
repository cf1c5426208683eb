// The forward pass after the scores: softmax, the mix of values.
#include "tests/mutants/naive_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mutants {
namespace {

using Index = std::int64_t;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

}  // namespace

NaiveAttention::NaiveAttention(const NaiveProblem& problem, Edits edits) : p_(problem), edits_(std::move(edits)) {}

void NaiveAttention::write_lse(Index b, Index h, Index i, float maximum, float sum) {
  float lse = std::log(sum) + (edits_.has(Edit::kLseWithoutMaximum) ? 0 : maximum);
  if (edits_.has(Edit::kLseUnscaled)) {
    float most = kHidden;
    float total = 0;
    for (Index j = 0; j < p_.keys; ++j)
      if (seen_[pair(b, h, i, j)]) most = std::max(most, dot(b, h, i, j));
    for (Index j = 0; j < p_.keys; ++j)
      if (seen_[pair(b, h, i, j)]) total += std::exp(dot(b, h, i, j) - most);
    lse = most + std::log(total);
  }
  if (edits_.has(Edit::kLseBaseTwo)) lse *= 1.44269504F;
  out_.lse[row(b, h, i)] = lse - shift(b, h, i);
}

void NaiveAttention::empty_row(Index b, Index h, Index i) {
  empty_[row(b, h, i)] = 1;
  float lse = kHidden;
  if (edits_.has(Edit::kEmptyLseZero)) lse = 0;
  if (edits_.has(Edit::kEmptyLseInfinite)) lse = -kHidden;
  const bool is_nan = edits_.has(Edit::kEmptyNan) || edits_.has(Edit::kFillInF16);
  if (edits_.has(Edit::kFillInF16)) lse = std::numeric_limits<float>::quiet_NaN();
  out_.lse[row(b, h, i)] = lse;
  for (Index j = 0; j < p_.keys; ++j) {
    float& weight = weights_[pair(b, h, i, j)];
    if (is_nan) weight = std::numeric_limits<float>::quiet_NaN();
    if (edits_.has(Edit::kEmptyMean)) weight = 1 / static_cast<float>(p_.keys);
  }
}

void NaiveAttention::softmax_row(Index b, Index h, Index i) {
  const bool has_sink = !p_.sinks.empty() && !edits_.has(Edit::kSinkIgnored);
  const bool sink_later = has_sink && edits_.has(Edit::kSigmoidSink);
  const bool raw_sink = edits_.has(Edit::kSinkWithoutExp);
  float sink = has_sink ? p_.sinks[static_cast<std::size_t>(h)] : kHidden;
  sink += shift(b, h, i);
  float maximum = has_sink && !sink_later && !raw_sink ? sink : kHidden;
  bool any = has_sink && !sink_later;
  for (Index j = 0; j < p_.keys; ++j)
    if (seen_[pair(b, h, i, j)] && scores_[pair(b, h, i, j)] != kHidden) {
      maximum = std::max(maximum, scores_[pair(b, h, i, j)]);
      any = true;
    }
  if (!any && !sink_later) return empty_row(b, h, i);
  if (maximum == kHidden || edits_.has(Edit::kNoMaximum)) maximum = 0;
  float sum = 0;
  if (const Index block = edits_.whole(Edit::kOnlineBlocks); block > 0) {
    maximum = kHidden;
    for (Index begin = 0; begin < p_.keys; begin += block) {  // what was summed is rescaled whenever the maximum grows
      const Index end = std::min(begin + block, p_.keys);
      float larger = maximum;
      for (Index j = begin; j < end; ++j)
        if (seen_[pair(b, h, i, j)]) larger = std::max(larger, scores_[pair(b, h, i, j)]);
      if (larger == kHidden) continue;
      const float factor = std::exp(maximum - larger);
      sum *= factor;
      for (Index j = 0; j < begin; ++j) weights_[pair(b, h, i, j)] *= factor;
      for (Index j = begin; j < end; ++j)
        if (seen_[pair(b, h, i, j)]) sum += weights_[pair(b, h, i, j)] = std::exp(scores_[pair(b, h, i, j)] - larger);
      maximum = larger;
    }
    if (maximum == kHidden) maximum = sink;
  } else {
    std::vector<float> terms;
    for (Index j = 0; j < p_.keys; ++j)
      if (seen_[pair(b, h, i, j)])
        terms.push_back(weights_[pair(b, h, i, j)] = std::exp(scores_[pair(b, h, i, j)] - maximum));
    sum = summed(std::move(terms));
  }
  float of_sink = 0;
  if (has_sink && !sink_later) of_sink = raw_sink ? sink : std::exp(sink - maximum);
  const float of_keys = sum;
  sum += of_sink;
  float factor = 1;
  if (sink_later) {
    const float lse = any ? maximum + std::log(sum) : kHidden;
    factor = 1 / (1 + std::exp(sink - lse));
    of_sink = 1 - factor;
    sink_weights_[row(b, h, i)] = of_sink;
    out_.lse[row(b, h, i)] = std::max(lse, sink) + std::log1p(std::exp(-std::fabs(lse - sink)));
  } else {
    write_lse(b, h, i, maximum, edits_.has(Edit::kLseWithoutSink) ? of_keys : sum);
    sink_weights_[row(b, h, i)] = of_sink / sum;
  }
  if (edits_.has(Edit::kScaleAfterSoftmax)) factor = p_.scale ? *p_.scale : 1 / std::sqrt(static_cast<float>(p_.width));
  if (edits_.has(Edit::kNotDivided)) sum = 1;
  for (Index j = 0; j < p_.keys; ++j)
    if (seen_[pair(b, h, i, j)]) weights_[pair(b, h, i, j)] = weights_[pair(b, h, i, j)] / sum * factor;
}

void NaiveAttention::softmax_columns(Index b, Index h) {
  for (Index j = 0; j < p_.keys; ++j) {
    float maximum = kHidden;
    float sum = 0;
    for (Index i = 0; i < p_.queries; ++i)
      if (seen_[pair(b, h, i, j)]) maximum = std::max(maximum, scores_[pair(b, h, i, j)]);
    for (Index i = 0; i < p_.queries; ++i)
      if (seen_[pair(b, h, i, j)]) sum += weights_[pair(b, h, i, j)] = std::exp(scores_[pair(b, h, i, j)] - maximum);
    for (Index i = 0; i < p_.queries; ++i)
      if (seen_[pair(b, h, i, j)]) weights_[pair(b, h, i, j)] /= sum;
  }
}

void NaiveAttention::softmax_heads(Index b, Index i, Index j) {
  float maximum = kHidden;
  float sum = 0;
  for (Index h = 0; h < p_.heads; ++h)
    if (seen_[pair(b, h, i, j)]) maximum = std::max(maximum, scores_[pair(b, h, i, j)]);
  for (Index h = 0; h < p_.heads; ++h)
    if (seen_[pair(b, h, i, j)]) sum += weights_[pair(b, h, i, j)] = std::exp(scores_[pair(b, h, i, j)] - maximum);
  for (Index h = 0; h < p_.heads; ++h)
    if (seen_[pair(b, h, i, j)]) weights_[pair(b, h, i, j)] /= sum;
}

void NaiveAttention::mix(Index b, Index h, Index i) {
  if (const Index tile = edits_.whole(Edit::kLastQueriesDropped); tile > 0 && i >= p_.queries - p_.queries % tile)
    return;
  for (Index c = 0; c < p_.value_width; ++c) {
    std::vector<float> terms;
    for (Index j = 0; j < p_.keys; ++j) {
      const float weight = p_.rounded(weights_[pair(b, h, i, j)]);
      if (weight != 0) terms.push_back(weight * value(b, h, j, c));  // NaN behind a mask is not read
    }
    float sum = summed(std::move(terms));
    if (edits_.has(Edit::kOutputTimes)) sum *= static_cast<float>(edits_.number(Edit::kOutputTimes));
    out_.o[row(b, h, i) * static_cast<std::size_t>(p_.value_width) + static_cast<std::size_t>(c)] = sum;
  }
}

// o [B,H,T,Dv] seen as [B,T,H,Dv] at once.
void NaiveAttention::merge_heads() {
  const std::vector<float> o = out_.o;
  for (Index b = 0; b < p_.batch; ++b)
    for (Index h = 0; h < p_.heads; ++h)
      for (Index i = 0; i < p_.queries; ++i)
        for (Index c = 0; c < p_.value_width; ++c) {
          const Index from = ((b * p_.queries + i) * p_.heads + h) * p_.value_width + c;
          out_.o[row(b, h, i) * static_cast<std::size_t>(p_.value_width) + static_cast<std::size_t>(c)] =
              o[static_cast<std::size_t>(from)];
        }
}

NaiveResult NaiveAttention::run() {
  repack();
  const auto rows = static_cast<std::size_t>(p_.batch * p_.heads * p_.queries);
  const std::size_t pairs = rows * static_cast<std::size_t>(p_.keys);
  scores_.assign(pairs, 0);
  weights_.assign(pairs, 0);
  slope_of_cap_.assign(pairs, 1);
  seen_.assign(pairs, 0);
  sink_weights_.assign(rows, 0);
  empty_.assign(rows, 0);
  out_.o.assign(rows * static_cast<std::size_t>(p_.value_width), 0);
  out_.lse.assign(rows, 0);
  const auto each_row = [&](auto&& what) {
    for (Index b = 0; b < p_.batch; ++b)
      for (Index h = 0; h < p_.heads; ++h)
        for (Index i = 0; i < p_.queries; ++i) what(b, h, i);
  };
  each_row([&](Index b, Index h, Index i) {
    for (Index j = 0; j < p_.keys; ++j) score(b, h, i, j);
  });
  each_row([&](Index b, Index h, Index i) { softmax_row(b, h, i); });
  for (Index b = 0; b < p_.batch; ++b) {
    if (edits_.has(Edit::kSoftmaxOverQueries))
      for (Index h = 0; h < p_.heads; ++h) softmax_columns(b, h);
    if (edits_.has(Edit::kSoftmaxOverHeads))
      for (Index i = 0; i < p_.queries; ++i)
        for (Index j = 0; j < p_.keys; ++j) softmax_heads(b, i, j);
  }
  each_row([&](Index b, Index h, Index i) { mix(b, h, i); });
  if (edits_.has(Edit::kMergeWithoutTranspose)) merge_heads();
  if (p_.d_o.data != nullptr) backward();
  return std::move(out_);
}

}  // namespace mutants
