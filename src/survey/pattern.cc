// Names of statistics, and what they say a head looks like. The thresholds are explained in docs/survey.md.
#include <cmath>
#include <cstdio>

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
    {"next", &HeadStatistics::next, "weight of the token after"},
    {"duplicate", &HeadStatistics::duplicate, "weight of earlier keys with the same token"},
    {"induction", &HeadStatistics::induction, "weight of keys that come right after the same token"},
    {"distance", &HeadStatistics::distance, "sum p |pos - j|, in tokens"},
    {"relative_distance", &HeadStatistics::relative_distance,
     "the same of other keys than the first and its own, divided by that of equal weights"},
    {"saturation", &HeadStatistics::saturation, "share of rows whose largest weight is above 0.99"},
    {"gradient", &HeadStatistics::gradient, "sum p (1 - p): what the softmax lets through"},
};

// A head whose weights are this even looks at everything, whatever is there.
constexpr double kEven = 0.97;
// Of what does not rest on the first key, so much on the token before makes a previous-token head; above the lower
// number it is at least part of a mix.
constexpr double kMostlyPrevious = 0.5, kPartlyPrevious = 0.25;
// Looks this far, compared with equal weights.
// What is left of a head that rests on the first key says little of it.
constexpr double kLittleElsewhere = 0.3;
constexpr double kNear = 0.5, kAnywhere = 0.75;

// What is worth a remark beside the pattern.
constexpr double kRestsOnFirst = 0.3, kTakes = 0.3, kFollows = 0.2, kSaturated = 0.5;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// What does not rest on the first key or in a sink logit.
double elsewhere(const HeadStatistics& head) {
  return 1 - head.first_key - (std::isnan(head.sink_logit) ? 0 : head.sink_logit);
}

std::string evidence_of(const HeadStatistics& head, HeadPattern pattern) {
  const std::string as_far = "looks " + number(head.relative_distance) + " as far as equal weights";
  const bool rests = 1 - elsewhere(head) >= kRestsOnFirst && elsewhere(head) > 0;
  const std::string before =
      number(head.previous) + " on the token before" +
      (rests ? " (" + number(head.previous / elsewhere(head)) + " of what the first key leaves)" : "");
  switch (pattern) {
    case HeadPattern::kContent: return "by content: " + as_far + "; " + before;
    case HeadPattern::kPrevious: return "previous token: " + before;
    case HeadPattern::kNext: return "next token: " + number(head.next) + " on the token after";
    case HeadPattern::kFirst:
      return "rests on the first key: " + number(1 - elsewhere(head)) + " there, which leaves little to tell";
    case HeadPattern::kDistance: return "decays with distance: " + as_far;
    case HeadPattern::kMix: return "mix: " + before + "; " + as_far;
    case HeadPattern::kEven:
      return "even: its entropy is " + number(head.relative_entropy) + " of the largest there is";
    case HeadPattern::kUnknown: break;
  }
  return head.rows == 0 ? "unknown: no row sees two keys" : "unknown: nothing says where its queries stand";
}

}  // namespace

std::span<const StatisticInfo> statistics_of_heads() { return kStatistics; }

std::string_view to_string(HeadPattern pattern) {
  switch (pattern) {
    case HeadPattern::kContent: return "content";
    case HeadPattern::kPrevious: return "previous";
    case HeadPattern::kDistance: return "distance";
    case HeadPattern::kMix: return "mix";
    case HeadPattern::kEven: return "even";
    case HeadPattern::kNext: return "next";
    case HeadPattern::kFirst: return "first";
    case HeadPattern::kUnknown: break;
  }
  return "unknown";
}

HeadPattern pattern_of(const HeadStatistics& head) {
  if (head.rows == 0) return HeadPattern::kUnknown;
  if (head.relative_entropy >= kEven) return HeadPattern::kEven;
  if (elsewhere(head) <= kLittleElsewhere) return HeadPattern::kFirst;
  if (std::isnan(head.previous) || std::isnan(head.relative_distance)) return HeadPattern::kUnknown;
  const double previous = head.previous / elsewhere(head), next = head.next / elsewhere(head);
  if (previous >= kMostlyPrevious) return HeadPattern::kPrevious;
  if (next >= kMostlyPrevious) return HeadPattern::kNext;
  if (previous >= kPartlyPrevious) return HeadPattern::kMix;
  if (head.relative_distance <= kNear) return HeadPattern::kDistance;
  return head.relative_distance >= kAnywhere ? HeadPattern::kContent : HeadPattern::kMix;
}

std::string description_of(const HeadStatistics& head) {
  std::string text = evidence_of(head, pattern_of(head));
  if (head.first_key >= kRestsOnFirst && pattern_of(head) != HeadPattern::kFirst)
    text += "; rests on the first key with " + number(head.first_key);
  if (head.sink_logit >= kRestsOnFirst) text += "; its sink logit takes " + number(head.sink_logit);
  if (head.sink >= kTakes && head.sink_key > 0)
    text += "; key " + std::to_string(head.sink_key) + " takes " + number(head.sink);
  if (head.self >= kTakes) text += "; " + number(head.self) + " on the token itself";
  if (head.next >= kFollows && pattern_of(head) != HeadPattern::kNext)
    text += "; " + number(head.next) + " on the token after";
  if (head.induction - head.next >= kFollows)
    text += "; " + number(head.induction) + " on what followed the same token (induction)";
  if (head.duplicate >= kFollows) text += "; " + number(head.duplicate) + " on the same token before";
  if (head.saturation >= kSaturated) text += "; saturated in " + number(head.saturation) + " of its rows";
  if (head.not_finite > 0) text += "; " + std::to_string(head.not_finite) + " rows are not finite";
  return text;
}

}  // namespace qkv
