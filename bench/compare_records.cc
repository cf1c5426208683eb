// The noise of a ratio is that of both runs together.
#include "bench/compare_records.h"

#include <algorithm>
#include <cmath>

#include "bench/statistics.h"

namespace qkv::bench {
namespace {

constexpr double kLeastNoise = 0.01;  // rounds of one run agree better than runs do

// Speed of each round, and the one that stands for the row.
struct Speed {
  std::vector<double> rounds;
  double value = 0;
};

Speed speed_of(const Record& record, bool by_share) {
  Speed speed;
  for (std::size_t i = 0; i < record.seconds.size(); ++i) {
    if (record.seconds[i] <= 0) continue;
    speed.rounds.push_back(by_share ? 1 / record.seconds[i] / record.ceiling[i] : 1 / record.seconds[i]);
  }
  speed.value = by_share || call_seconds(record) <= 0 ? median(speed.rounds) : 1 / call_seconds(record);
  return speed;
}

bool has_ceiling(const Record& record) {
  return call_seconds(record) >= kShortCall && record.ceiling.size() == record.seconds.size() &&
         std::all_of(record.ceiling.begin(), record.ceiling.end(), [](double value) { return value > 0; });
}

}  // namespace

bool Change::is_clear() const { return std::fabs(ratio - 1) > 2 * noise; }

std::optional<Change> change_of(const Record& record, const std::vector<Record>& old_records) {
  const auto old = std::find_if(old_records.begin(), old_records.end(), [&](const Record& candidate) {
    return candidate.pass == record.pass && candidate.problem == record.problem &&
           candidate.threads == record.threads && candidate.target == record.target;
  });
  if (old == old_records.end()) return std::nullopt;
  const bool by_share = has_ceiling(record) && has_ceiling(*old);
  const Speed now = speed_of(record, by_share);
  const Speed then = speed_of(*old, by_share);
  if (now.value <= 0 || then.value <= 0) return std::nullopt;
  const double noise = std::hypot(relative_spread(now.rounds), relative_spread(then.rounds));
  return Change{now.value / then.value, std::max(kLeastNoise, noise)};
}

}  // namespace qkv::bench
