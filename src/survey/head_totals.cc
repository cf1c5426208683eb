// From rows to means.
#include "src/survey/head_totals.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qkv {

int distance_bin(std::int64_t distance) {
  return std::min(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(distance))), kDistanceBins - 1);
}

void HeadTotals::add_row(const RowTotals& row, double from_first, double sink_share) {
  if (row.seen < 2) return;
  ++rows_;
  // A rounded lse makes all weights of a row wrong by one factor; what they must add up to is known.
  const double factor = row.mass > 0 ? (1 - sink_share) / row.mass : 0;
  const double mass = factor * row.mass;
  const double entropy = factor > 0 ? -factor * row.information - std::log(factor) * mass : 0;
  entropy_ += entropy;
  relative_entropy_ += entropy / std::log(row.seen);
  sink_logit_ += sink_share;
  saturation_ += factor * row.largest > 0.99 ? 1 : 0;
  gradient_ += mass - factor * factor * row.square;
  first_ += factor * row.first;
  previous_ += factor * row.previous;
  self_ += factor * row.self;
  next_ += factor * row.next;
  duplicate_ += factor * row.duplicate;
  induction_ += factor * row.induction;
  distance_ += factor * row.distance;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) bins_[bin] += factor * row.bins[bin];

  // The first key aside, where many heads rest, and the token's own: how far the row looks, and how far equal weights
  // would.
  const bool is_first = from_first == 0;
  const double others = row.seen - row.first_seen - (is_first ? 0 : row.self_seen);
  const double others_mass = row.mass - row.first - (is_first ? 0 : row.self);
  const double to_first = std::fabs(from_first);
  if (others < 1) return;
  distance_to_others_ += factor * std::max(0.0, row.distance - row.first * to_first);
  even_distance_to_others_ +=
      factor * std::max(0.0, others_mass) * (row.seen_distance - row.first_seen * to_first) / others;
}

void HeadTotals::merge(const HeadTotals& other) {
  rows_ += other.rows_;
  not_finite_ += other.not_finite_;
  entropy_ += other.entropy_;
  relative_entropy_ += other.relative_entropy_;
  sink_logit_ += other.sink_logit_;
  saturation_ += other.saturation_;
  gradient_ += other.gradient_;
  first_ += other.first_;
  previous_ += other.previous_;
  self_ += other.self_;
  next_ += other.next_;
  duplicate_ += other.duplicate_;
  induction_ += other.induction_;
  distance_ += other.distance_;
  distance_to_others_ += other.distance_to_others_;
  even_distance_to_others_ += other.even_distance_to_others_;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) bins_[bin] += other.bins_[bin];
}

HeadStatistics HeadTotals::statistics(std::int64_t head, bool has_positions, bool has_tokens, bool has_sink) const {
  HeadStatistics out;
  out.head = head;
  out.rows = rows_;
  out.not_finite = not_finite_;
  out.distances.fill(HeadStatistics::kUnknown);
  if (rows_ == 0) return out;
  const auto mean = [this](double sum) { return sum / static_cast<double>(rows_); };
  out.entropy = mean(entropy_);
  out.relative_entropy = mean(relative_entropy_);
  out.first_key = mean(first_);
  out.saturation = mean(saturation_);
  out.gradient = mean(gradient_);
  if (has_sink) out.sink_logit = mean(sink_logit_);
  if (has_positions) {
    out.previous = mean(previous_);
    out.self = mean(self_);
    out.next = mean(next_);
    out.distance = mean(distance_);
    if (even_distance_to_others_ > 0) out.relative_distance = distance_to_others_ / even_distance_to_others_;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) out.distances[bin] = mean(bins_[bin]);
  }
  if (has_tokens && has_positions) {
    out.duplicate = mean(duplicate_);
    out.induction = mean(induction_);
  }
  return out;
}

void take_larger_sink(const ColumnTotals& columns, std::int64_t batch, HeadStatistics& statistics) {
  for (std::size_t j = 0; j < columns.mass.size(); ++j) {
    if (columns.rows[j] == 0) continue;
    const double mean = columns.mass[j] / static_cast<double>(columns.rows[j]);
    if (statistics.sink_key >= 0 && mean <= statistics.sink) continue;
    statistics.sink = mean;
    statistics.sink_key = static_cast<std::int64_t>(j);
    statistics.sink_batch = batch;
  }
}

void take_sink(const HeadStatistics& found, HeadStatistics& statistics) {
  statistics.sink = found.sink;
  statistics.sink_key = found.sink_key;
  statistics.sink_batch = found.sink_batch;
}

}  // namespace qkv
