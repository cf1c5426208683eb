// Names of statistics, and what they say a head looks like. The thresholds are explained in docs/survey.md.
#include <array>
#include <cmath>

#include "qkv/survey.h"

namespace qkv {
namespace {

constexpr StatisticInfo kStatistics[] = {
    {"entropy", &HeadStatistics::entropy, "-sum p ln p, in nats"},
    {"relative_entropy", &HeadStatistics::relative_entropy, "entropy / ln(keys that the row may see): 1 is even"},
    {"first_key", &HeadStatistics::first_key, "weight of the first key"},
    {"sink", &HeadStatistics::sink, "the most that one key takes, over the rows that may see it"},
    {"sink_logit", &HeadStatistics::sink_logit, "what a sink logit takes"},
    {"previous", &HeadStatistics::previous, "weight of the token before"},
    {"self", &HeadStatistics::self, "weight of the token itself"},
    {"duplicate", &HeadStatistics::duplicate, "weight of earlier keys with the same token"},
    {"induction", &HeadStatistics::induction, "weight of keys that come right after the same token"},
    {"distance", &HeadStatistics::distance, "sum p |pos - j|, in tokens"},
    {"relative_distance", &HeadStatistics::relative_distance,
     "the same without the first key, divided by that of equal weights"},
    {"saturation", &HeadStatistics::saturation, "share of rows whose largest weight is above 0.99"},
    {"gradient", &HeadStatistics::gradient, "sum p (1 - p): what the softmax lets through"},
};

// A head whose weights are this even looks at everything, whatever is there.
constexpr double kEven = 0.97;
// Of what does not rest on the first key, so much on the token before makes a previous-token head; above the lower
// number it is at least part of a mix.
constexpr double kMostlyPrevious = 0.5, kPartlyPrevious = 0.25;
// Looks this far, compared with equal weights.
constexpr double kNear = 0.5, kAnywhere = 0.75;

}  // namespace

std::span<const StatisticInfo> statistics_of_heads() { return kStatistics; }

std::string_view to_string(HeadPattern pattern) {
  switch (pattern) {
    case HeadPattern::kContent: return "content";
    case HeadPattern::kPrevious: return "previous";
    case HeadPattern::kDistance: return "distance";
    case HeadPattern::kMix: return "mix";
    case HeadPattern::kEven: return "even";
    case HeadPattern::kUnknown: break;
  }
  return "unknown";
}

HeadPattern pattern_of(const HeadStatistics& head) {
  if (head.rows == 0) return HeadPattern::kUnknown;
  if (head.relative_entropy >= kEven) return HeadPattern::kEven;
  if (std::isnan(head.previous) || std::isnan(head.relative_distance)) return HeadPattern::kUnknown;
  const double elsewhere = 1 - head.first_key - (std::isnan(head.sink_logit) ? 0 : head.sink_logit);
  const double previous = elsewhere > 0 ? head.previous / elsewhere : 0;
  if (previous >= kMostlyPrevious) return HeadPattern::kPrevious;
  if (previous >= kPartlyPrevious) return HeadPattern::kMix;
  if (head.relative_distance <= kNear) return HeadPattern::kDistance;
  return head.relative_distance >= kAnywhere ? HeadPattern::kContent : HeadPattern::kMix;
}

}  // namespace qkv
