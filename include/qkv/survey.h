// What the weights of a head look like: statistics of every row, streamed, with nothing of size Tq·Tk in memory.
#ifndef QKV_SURVEY_H_
#define QKV_SURVEY_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

enum class BatchEntries : std::uint8_t {
  kTogether,  // rows of one model on several texts
  kApart,     // each its own statistics
};

struct SurveyInputs {
  View<const void> q;       // [B,Hq,Tq,D]
  View<const void> k;       // [B,Hkv,Tk,D]
  View<const void> tokens;  // [B,Tk] i64 or i32, the id of every key's token; or absent
  // Which token query 0 is. Not given: where the options' corner puts it, or 0 where Tq = Tk.
  std::optional<std::int64_t> query_start;
  BatchEntries batches = BatchEntries::kTogether;
  bool is_cross = false;  // the keys are not the queries' own tokens: nobody stands anywhere, unless the options say so
};

// Distances in powers of two: bin 0 is distance 0, bin b >= 1 holds 2^(b−1) to 2^b − 1.
inline constexpr int kDistanceBins = 40;

// One query head. Means over the rows that may see at least two keys and are no padding (a query that stands on a key
// which key_mask or key_lengths hide); p as in
// docs/semantics.md, so the weights of a row add up to 1, or to 1 − exp(sink − lse) with a sink. Natural units.
// NaN: cannot be told (no tokens, no positions, no row).
struct HeadStatistics {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t batch = -1;  // the batch entry; -1: all of them together
  std::int64_t head = 0;
  std::int64_t rows = 0;        // that may see at least two keys, and so were counted
  std::int64_t not_finite = 0;  // rows with NaN or Inf among their scores: in no mean

  double entropy = kUnknown;            // −Σ p ln p
  double relative_entropy = kUnknown;   // the same, divided by ln of the number of keys that the row may see
  double first_key = kUnknown;          // what the first key takes that is no padding
  double sink = kUnknown;               // max over j of the mean of p(·,j) over the rows that may see j
  double sink_logit = kUnknown;         // exp(sink_h − lse): what a sink logit takes
  double previous = kUnknown;           // p(i, pos − 1)
  double self = kUnknown;               // p(i, pos)
  double next = kUnknown;               // p(i, pos + 1)
  double duplicate = kUnknown;          // Σ p(i,j) over earlier j with the same token
  double induction = kUnknown;          // Σ p(i,j) over j whose previous token is token i
  double distance = kUnknown;           // Σ p |pos − j|
  double relative_distance = kUnknown;  // of other keys than the first and the token's own, by that of equal weights
  double saturation = kUnknown;         // share of rows with max p > 0.99
  double gradient = kUnknown;           // Σ p (1 − p): what the softmax lets through
  std::array<double, kDistanceBins> distances{};  // mean Σ p over the keys of each bin; NaN without positions

  std::int64_t sink_batch = -1, sink_key = -1;  // where `sink` is; -1 where it is not known
};

// A statistic by its name, in the order of a table.
struct StatisticInfo {
  std::string_view name;  // "relative_entropy"
  double HeadStatistics::* value;
  std::string_view meaning;  // one line
};
std::span<const StatisticInfo> statistics_of_heads();

// What a head looks like: the lesson's four, weights that are nearly equal, the token after, and the first key alone.
enum class HeadPattern : std::uint8_t { kUnknown, kContent, kPrevious, kDistance, kMix, kEven, kNext, kFirst };

// "unknown" "content" "previous" "distance" "mix" "even" "next" "first"
std::string_view to_string(HeadPattern pattern);

// The pattern that the statistics speak for; the thresholds are in docs/survey.md.
HeadPattern pattern_of(const HeadStatistics& head);

// The pattern and the numbers that speak for it: "previous token: 0.83 on the token before; saturated in 0.60 of its
// rows". One line of English.
std::string description_of(const HeadStatistics& head);

// Computes the statistics of every query head, in their order; of batch entries apart, one entry after the other.
//
// Shapes: as attention_forward, without v; tokens [B,Tk].
// Errors: those of attention_forward for q, k and options; kShapeMismatch for tokens; kCancelled.
// Numerics: weights in f32 (f64 for f64), each row scaled so that it adds up exactly to what it should; sums over rows
//   in f64. Against float64 a mean is off by less than 1e-5 of its size plus 1e-6 on N(0,1) inputs.
// Cost: two passes over the scores, 4 D flops a visible pair and some 30 more; O(threads Tk + Tq Hq B) memory. The same
//   bits for any thread count.
Result<std::vector<HeadStatistics>> survey(const SurveyInputs& inputs, const AttentionOptions& options = {},
                                           const Execution& execution = {});

namespace reference {
// The same in float64 plain loops, from the whole matrix of weights.
Result<std::vector<HeadStatistics>> survey(const SurveyInputs& inputs, const AttentionOptions& options = {});
}  // namespace reference

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_SURVEY_H_
