// Scores, masks and softmax of one head, with the mistakes that are made in them.
#include "src/check/variant_head.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace qkv::check {
namespace {

using enum MistakeId;

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr double kLargestF16 = 65504;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

double as_f16(double x) { return to_float(to_f16(x)); }

}  // namespace

double exp_f32(double x) { return static_cast<double>(static_cast<float>(std::exp(x))); }

std::int64_t VariantProblem::query_at(std::int64_t b, std::int64_t h, std::int64_t t) const {
  return ((b * shape.query_heads + h) * shape.query_length + t) * shape.width;
}

std::int64_t VariantProblem::kv_row(std::int64_t b, std::int64_t h, std::int64_t t) const {
  const std::int64_t head = mistakes.has(kHeadMapTiled) ? h % shape.kv_heads : h / shape.group();
  std::int64_t batch = b;
  if (mistakes.has(kNextBatch)) batch = (b + 1) % shape.batch;
  if (mistakes.has(kFirstBatch)) batch = 0;
  return (batch * shape.kv_heads + head) * shape.key_length + t;
}

double VariantProblem::scale(std::int64_t j) const {
  const auto width = static_cast<double>(shape.width);
  double scale = resolve_scale(shape, options);
  if (mistakes.has(kScaleMissing)) scale = 1;
  if (mistakes.has(kScaleTwice)) scale *= scale;
  if (mistakes.has(kScaleInverse)) scale = 1 / width;
  if (mistakes.has(kScaleModelWidth)) scale = 1 / std::sqrt(width * static_cast<double>(shape.query_heads));
  if (const std::int64_t multiple = mistakes.parameter(kScalePaddedWidth); multiple > 0)
    scale = 1 / std::sqrt(static_cast<double>(rounded_up(shape.width, multiple)));
  if (mistakes.has(kScaleAfterSoftmax)) scale = 1;
  if (mistakes.has(kScaleRoot) && scale < 0) scale = kNan;
  if (const std::int64_t block = mistakes.parameter(kScalePerBlock); block > 0)
    scale *= std::pow(std::numbers::log2e, static_cast<int>(j / block));
  return scale;
}

double VariantHead::raw(std::int64_t i, std::int64_t j) const {
  const AttentionShape& shape = problem_.shape;
  const VariantInputs& in = problem_.inputs;
  const std::int64_t k_at = problem_.kv_row(b_, h_, j) * shape.width;
  if (problem_.mistakes.has(kKeysReshaped)) {
    const std::int64_t head = problem_.kv_row(b_, h_, 0) * shape.width;
    const std::int64_t q_at = problem_.query_at(b_, h_, i);
    double sum = 0;
    for (std::int64_t c = 0; c < shape.width; ++c)
      sum += in.q[static_cast<std::size_t>(q_at + c)] * in.k[static_cast<std::size_t>(head + c * shape.key_length + j)];
    return sum;
  }
  const auto q_at = [&](std::int64_t h) { return in.q.data() + problem_.query_at(b_, h, i); };
  if (in.padded_width > 0)
    return dot(in.padded_q.data() + problem_.query_at(b_, h_, i) / shape.width * in.padded_width,
               in.padded_k.data() + k_at / shape.width * in.padded_width, in.padded_width);
  if (!problem_.mistakes.has(kHeadGroupSummed)) return dot(q_at(h_), in.k.data() + k_at, shape.width);
  const std::int64_t first = h_ / shape.group() * shape.group();
  double sum = 0;
  for (std::int64_t h = first; h < first + shape.group(); ++h) sum += dot(q_at(h), in.k.data() + k_at, shape.width);
  return sum;
}

double VariantHead::dot(const double* q, const double* k, std::int64_t width) const {
  const bool is_f16 = problem_.mistakes.has(kAccumulateF16);
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum = is_f16 ? as_f16(sum + q[c] * k[c]) : sum + q[c] * k[c];
  return sum;
}

VariantHead::VariantHead(const VariantProblem& problem, std::int64_t b, std::int64_t h, Scores /*tag*/)
    : problem_(problem), b_(b), h_(h) {
  const std::int64_t rows = problem.shape.query_length;
  const std::int64_t keys = problem.shape.key_length;
  const auto pairs = static_cast<std::size_t>(rows * keys);
  s_.resize(pairs);
  p_.resize(pairs);
  bend_.assign(pairs, 1);
  seen_.resize(pairs);
  const auto count = static_cast<std::size_t>(rows);
  lse_.resize(count);
  sink_weight_.resize(count);
  empty_.resize(count);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < keys; ++j) compute_score(i, j);
}

VariantHead::VariantHead(const VariantProblem& problem, std::int64_t b, std::int64_t h)
    : VariantHead(problem, b, h, Scores{}) {
  for (std::int64_t i = 0; i < problem.shape.query_length; ++i) weigh_row(i);
  if (problem.mistakes.has(kSoftmaxOverQueries))
    for (std::int64_t j = 0; j < problem.shape.key_length; ++j) weigh_column(j);
  if (problem.mistakes.has(kSoftmaxOverHeads)) weigh_across_heads();
}

void VariantHead::compute_score(std::int64_t i, std::int64_t j) {
  const MistakeSet& mistakes = problem_.mistakes;
  const std::optional<double>& cap = problem_.options.softcap;
  const reference::RowIndex at{b_, h_, i};
  const double scale = problem_.scale(j);
  double s = raw(i, j);
  const auto bent = [&](double x) {
    const double t = std::tanh(x / *cap);
    bend_[index(i, j)] = 1 - t * t;
    return (mistakes.has(kSoftcapFormula) ? x : *cap) * t;
  };
  const bool capped_first = mistakes.has(kSoftcapBeforeScale);
  const bool capped_last = mistakes.has(kSoftcapAfterBias) || mistakes.has(kSoftcapAfterMask);
  if (cap && capped_first) s = bent(s);
  s *= scale;
  if (cap && !capped_first && !capped_last) s = bent(s);
  const double bias = problem_.mask.bias(at, j);
  s += (mistakes.has(kScaleTimesBias) ? scale * bias : bias) - problem_.mask.slope(at, j) + problem_.mask.added(at, j);
  if (cap && capped_last) s = s == kHidden && mistakes.has(kSoftcapAfterBias) ? s : bent(s);
  if (mistakes.has(kBiasOverflows) && static_cast<float>(s * std::numbers::log2e) == kHidden) s = kHidden;
  if (mistakes.has(kFillInF16) && bias <= -kLargestF16) s = as_f16(s);
  const bool has_mask = problem_.options.keep.is_present() || problem_.options.key_mask.is_present();
  if (mistakes.has(kMaskTimesInfinity) && has_mask) s = kNan;
  s_[index(i, j)] = s;
  seen_[index(i, j)] = s != kHidden;
  if (!problem_.mask.allowed(at, j)) hide(i, j);
}

// What is done with a score that may not be seen.
void VariantHead::hide(std::int64_t i, std::int64_t j) {
  double& s = s_[index(i, j)];
  const MistakeSet& mistakes = problem_.mistakes;
  if (const Mistake* fill = mistakes.find(kFillAdded)) {
    s = static_cast<double>(static_cast<float>(std::max(s + fill->parameter, -3.4028234663852886e38)));
  } else if (const Mistake* value = mistakes.find(kFillReplaced)) {
    s = value->parameter;
  } else if (mistakes.has(kFillInF16)) {
    s = as_f16(s - kLargestF16);
    seen_[index(i, j)] = s != kHidden;
  } else if (mistakes.has(kSoftcapAfterMask) && problem_.options.softcap) {
    s = -*problem_.options.softcap;
  } else {
    seen_[index(i, j)] = false;
  }
}

void VariantHead::weigh_row(std::int64_t i) {
  const std::int64_t keys = problem_.shape.key_length;
  const MistakeSet& mistakes = problem_.mistakes;
  const bool has_sink = !problem_.options.sinks.empty();
  const double sink = has_sink ? problem_.options.sinks[static_cast<std::size_t>(h_)] : kHidden;
  const auto row = static_cast<std::size_t>(i);
  double maximum = mistakes.has(kSinkWithoutExp) ? kHidden : sink;
  bool any = has_sink;
  for (std::int64_t j = 0; j < keys; ++j)
    if (sees(i, j)) {
      maximum = std::max(maximum, s_[index(i, j)]);
      any = true;
    }
  empty_[row] = !any;
  const bool is_shifted = !mistakes.has(kNoMaximum);
  const double shift = is_shifted && maximum != kHidden ? maximum : 0;
  const auto exponential = [&](double x) { return is_shifted ? std::exp(x - shift) : exp_f32(x); };
  double of_sink = 0;
  if (has_sink) of_sink = mistakes.has(kSinkWithoutExp) ? sink : exponential(sink);
  double of_keys = 0;
  for (std::int64_t j = 0; j < keys; ++j)
    if (sees(i, j)) of_keys += p_[index(i, j)] = exponential(s_[index(i, j)]);
  const double sum = of_keys + of_sink;
  const double divisor = mistakes.has(kSoftmaxUnnormalised) ? 1 : sum;
  for (std::int64_t j = 0; j < keys; ++j)
    if (sees(i, j))
      p_[index(i, j)] = p_[index(i, j)] / divisor *
                        (mistakes.has(kScaleAfterSoftmax) ? resolve_scale(problem_.shape, problem_.options) : 1.0);
  sink_weight_[row] = any ? of_sink / divisor : 0;
  lse_[row] = any ? row_lse(i, shift, mistakes.has(kLseWithoutSink) ? of_keys : sum) : kHidden;
  if (any) return;
  const bool overflows = mistakes.has(kFillInF16) || mistakes.has(kBiasOverflows);  // −∞ − (−∞)
  const bool is_nan = overflows || mistakes.has(kEmptyRowNan);
  if (mistakes.has(kEmptyRowMean) || is_nan)
    for (std::int64_t j = 0; j < keys; ++j) p_[index(i, j)] = is_nan ? kNan : 1 / static_cast<double>(keys);
  if (overflows) lse_[row] = kNan;
  if (mistakes.has(kEmptyLseZero)) lse_[row] = 0;
  if (mistakes.has(kEmptyLseInfinite)) lse_[row] = -kHidden;
}

double VariantHead::unscaled_lse(std::int64_t i) const {
  double maximum = kHidden;
  for (std::int64_t j = 0; j < problem_.shape.key_length; ++j)
    if (sees(i, j)) maximum = std::max(maximum, raw(i, j));
  double sum = 0;
  for (std::int64_t j = 0; j < problem_.shape.key_length; ++j)
    if (sees(i, j)) sum += std::exp(raw(i, j) - maximum);
  return maximum + std::log(sum);
}

double VariantHead::row_lse(std::int64_t i, double maximum, double sum) const {
  if (problem_.mistakes.has(kLseUnscaled)) return unscaled_lse(i);
  const double lse = std::log(sum) + (problem_.mistakes.has(kLseWithoutMaximum) ? 0 : maximum);
  return problem_.mistakes.has(kLseBaseTwo) ? lse * std::numbers::log2e : lse;
}

void VariantHead::weigh_column(std::int64_t j) {
  double maximum = kHidden;
  for (std::int64_t i = 0; i < problem_.shape.query_length; ++i)
    if (sees(i, j)) maximum = std::max(maximum, s_[index(i, j)]);
  double sum = 0;
  for (std::int64_t i = 0; i < problem_.shape.query_length; ++i)
    if (sees(i, j)) sum += p_[index(i, j)] = std::exp(s_[index(i, j)] - maximum);
  for (std::int64_t i = 0; i < problem_.shape.query_length; ++i)
    if (sees(i, j)) p_[index(i, j)] /= sum;
}

void VariantHead::weigh_across_heads() {
  std::vector<VariantHead> heads;
  heads.reserve(static_cast<std::size_t>(problem_.shape.query_heads));
  for (std::int64_t h = 0; h < problem_.shape.query_heads; ++h) heads.push_back({problem_, b_, h, Scores{}});
  for (std::size_t at = 0; at < s_.size(); ++at) {
    double maximum = kHidden;
    for (const VariantHead& head : heads)
      if (head.seen_[at]) maximum = std::max(maximum, head.s_[at]);
    double sum = 0;
    for (const VariantHead& head : heads)
      if (head.seen_[at]) sum += std::exp(head.s_[at] - maximum);
    p_[at] = seen_[at] ? std::exp(s_[at] - maximum) / sum : 0;
  }
}

}  // namespace qkv::check
