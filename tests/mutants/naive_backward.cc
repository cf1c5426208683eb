// The backward pass, from the weights that the forward pass kept.
#include <cmath>

#include "tests/mutants/naive_attention.h"

namespace mutants {
namespace {

using Index = std::int64_t;

std::size_t flat(Index b, Index heads, Index h, Index tokens, Index t, Index width, Index c) {
  return static_cast<std::size_t>(((b * heads + h) * tokens + t) * width + c);
}

}  // namespace

// The weight of a pair as the backward pass has it.
float NaiveAttention::weight_again(Index b, Index h, Index i, Index j) const {
  if (edits_.has(Edit::kBackwardUnmasked)) return std::exp(scores_[pair(b, h, i, j)] - out_.lse[row(b, h, i)]);
  if (!edits_.has(Edit::kBackwardUnmaskedOwnSum)) return weights_[pair(b, h, i, j)];
  float most = -INFINITY;
  float sum = 0;
  for (Index other = 0; other < p_.keys; ++other) most = std::fmax(most, scores_[pair(b, h, i, other)]);
  const float sink = p_.sinks.empty() ? -INFINITY : p_.sinks[static_cast<std::size_t>(h)];
  most = std::fmax(most, sink);
  for (Index other = 0; other < p_.keys; ++other) sum += std::exp(scores_[pair(b, h, i, other)] - most);
  return std::exp(scores_[pair(b, h, i, j)] - most) / (sum + std::exp(sink - most));
}

std::int64_t NaiveAttention::gradient_head(Index h) const {
  return edits_.has(Edit::kGradientHeadModulo) ? h % p_.kv_heads : h / (p_.heads / p_.kv_heads);
}

void NaiveAttention::backward_pair(Index b, Index h, Index i, Index j, float ds) {
  if (p_.bias.data != nullptr) {
    float& d = out_.dbias[static_cast<std::size_t>(p_.bias.offset(b, h, i, j))];
    d = edits_.has(Edit::kBiasGradientNotSummed) ? ds : d + ds;
  }
  if (!edits_.has(Edit::kSoftcapSlopeForgotten)) ds *= slope_of_cap_[pair(b, h, i, j)];
  ds = p_.rounded(ds);
  const Index to = gradient_head(h);
  const float scale = scale_of(j);
  for (Index c = 0; c < p_.width; ++c) {
    out_.dq[flat(b, p_.heads, h, p_.queries, i, p_.width, c)] +=
        ds * (edits_.has(Edit::kQueryGradientUnscaled) ? 1 : scale) * key(b, h, j, c);
    out_.dk[flat(b, p_.kv_heads, to, p_.keys, j, p_.width, c)] +=
        ds * (edits_.has(Edit::kKeyGradientUnscaled) ? 1 : scale) * query(b, h, i, c);
  }
}

void NaiveAttention::backward_row(Index b, Index h, Index i) {
  std::vector<float> dp(static_cast<std::size_t>(p_.keys));
  const auto takes_part = [&](Index j) {
    if (empty_[row(b, h, i)]) return false;
    return edits_.has(Edit::kBackwardUnmasked) || edits_.has(Edit::kBackwardUnmaskedOwnSum) || seen_[pair(b, h, i, j)];
  };
  float delta = 0;
  for (Index j = 0; j < p_.keys; ++j) {
    if (!takes_part(j)) continue;
    float& sum = dp[static_cast<std::size_t>(j)];
    for (Index c = 0; c < p_.value_width; ++c) sum += p_.d_o.at(b, h, i, c) * value(b, h, j, c);
    delta += weight_again(b, h, i, j) * sum;
  }
  if (edits_.has(Edit::kDeltaFromOutput) || edits_.has(Edit::kBackwardUnmasked)) {
    delta = 0;
    for (Index c = 0; c < p_.value_width; ++c)
      delta += p_.d_o.at(b, h, i, c) * out_.o[flat(b, p_.heads, h, p_.queries, i, p_.value_width, c)];
  }
  const bool has_dlse = p_.d_lse != nullptr && !edits_.has(Edit::kLseGradientIgnored);
  const float from_lse = has_dlse ? p_.d_lse[row(b, h, i)] : 0;
  for (Index j = 0; j < p_.keys; ++j) {
    const Index to = gradient_head(h);
    if (edits_.has(Edit::kGroupNotSummed) && i == 0) {  // each head of a group writes over what the one before it wrote
      for (Index c = 0; c < p_.value_width; ++c) out_.dv[flat(b, p_.kv_heads, to, p_.keys, j, p_.value_width, c)] = 0;
      for (Index c = 0; c < p_.width; ++c) out_.dk[flat(b, p_.kv_heads, to, p_.keys, j, p_.width, c)] = 0;
    }
    if (empty_[row(b, h, i)] && edits_.has(Edit::kEmptyMean))  // a mean of v has its gradient, though no score has
      for (Index c = 0; c < p_.value_width; ++c)
        out_.dv[flat(b, p_.kv_heads, to, p_.keys, j, p_.value_width, c)] +=
            p_.rounded(weights_[pair(b, h, i, j)]) * p_.d_o.at(b, h, i, c);
    if (!takes_part(j)) continue;
    const float p = weight_again(b, h, i, j);
    float ds = p * (dp[static_cast<std::size_t>(j)] - delta + from_lse);
    if (edits_.has(Edit::kNoRowTerm)) ds = p * (dp[static_cast<std::size_t>(j)] + from_lse);
    if (edits_.has(Edit::kDiagonalOnly)) ds = p * (1 - p) * dp[static_cast<std::size_t>(j)] + p * from_lse;
    backward_pair(b, h, i, j, ds);
    for (Index c = 0; c < p_.value_width; ++c)
      out_.dv[flat(b, p_.kv_heads, to, p_.keys, j, p_.value_width, c)] += p_.rounded(p) * p_.d_o.at(b, h, i, c);
  }
  if (!p_.sinks.empty() && !edits_.has(Edit::kSinkGradientZero))
    out_.dsinks[static_cast<std::size_t>(h)] -= sink_weights_[row(b, h, i)] * (delta - from_lse);
}

void NaiveAttention::backward() {
  const auto zeros = [](Index a, Index b, Index c, Index d) {
    return std::vector<float>(static_cast<std::size_t>(a * b * c * d));
  };
  out_.dq = zeros(p_.batch, p_.heads, p_.queries, p_.width);
  out_.dk = zeros(p_.batch, p_.kv_heads, p_.keys, p_.width);
  out_.dv = zeros(p_.batch, p_.kv_heads, p_.keys, p_.value_width);
  if (p_.bias.data != nullptr) out_.dbias.assign(static_cast<std::size_t>(p_.bias.size), 0);
  if (!p_.sinks.empty()) out_.dsinks.assign(p_.sinks.size(), 0);
  for (Index b = 0; b < p_.batch; ++b)
    for (Index h = 0; h < p_.heads; ++h)
      for (Index i = 0; i < p_.queries; ++i) backward_row(b, h, i);
}

}  // namespace mutants
