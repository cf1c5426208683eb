// Rows of weights added up to the statistics of a head; the fast path and the reference both end here.
#ifndef QKV_SRC_SURVEY_HEAD_TOTALS_H_
#define QKV_SRC_SURVEY_HEAD_TOTALS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "qkv/survey.h"

namespace qkv {

// Sums over the keys that one row may see. The weights p may be off by a common factor, which HeadTotals takes out.
struct RowTotals {
  double mass = 0;           // Σ p
  double information = 0;    // Σ p ln p
  double square = 0;         // Σ p²
  double largest = 0;        // max p
  double distance = 0;       // Σ p |pos − j|
  double seen = 0;           // keys
  double seen_distance = 0;  // Σ |pos − j|
  double first = 0;          // p of the first key that is no padding
  double first_seen = 0;     // 1 if it may be seen
  double self = 0;           // p of the key that the query stands on
  double self_seen = 0;      // 1 if that may be seen
  double previous = 0, next = 0;
  double duplicate = 0, induction = 0;
  std::array<double, kDistanceBins> bins{};
};

// Bin of a distance: 0 for 0, else 1 + floor(log2 distance).
int distance_bin(std::int64_t distance);

// What rows gave to the keys. Shapes: [Tk].
struct ColumnTotals {
  std::vector<double> mass;        // Σ p over the rows that were counted
  std::vector<std::int64_t> rows;  // how many of them may see the key
};

// Some rows of one head.
class HeadTotals {
 public:
  // Adds a row that stands `from_first` behind the first key and should have the mass 1 − `sink_share`. Left out of
  // every mean: a row that sees fewer than two keys.
  void add_row(const RowTotals& row, double from_first, double sink_share);
  void add_not_finite() { ++not_finite_; }
  void merge(const HeadTotals& other);

  // The means. The columns are those of one batch entry each.
  HeadStatistics statistics(std::int64_t head, bool has_positions, bool has_tokens, bool has_sink) const;

 private:
  std::int64_t rows_ = 0, not_finite_ = 0;
  double entropy_ = 0, relative_entropy_ = 0, sink_logit_ = 0, saturation_ = 0, gradient_ = 0;
  double first_ = 0, previous_ = 0, self_ = 0, next_ = 0, duplicate_ = 0, induction_ = 0, distance_ = 0;
  double distance_to_others_ = 0, even_distance_to_others_ = 0;
  std::array<double, kDistanceBins> bins_{};
};

// Finds the key that takes most: `sink`, `sink_key` and `sink_batch` of the statistics become those of `columns` if
// they are larger.
void take_larger_sink(const ColumnTotals& columns, std::int64_t batch, HeadStatistics& statistics);

// The sink that was found, to the statistics of the same head.
void take_sink(const HeadStatistics& found, HeadStatistics& statistics);

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_HEAD_TOTALS_H_
