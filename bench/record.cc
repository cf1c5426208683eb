// Figures made from rounds.
#include "bench/record.h"

#include <algorithm>

#include "bench/statistics.h"

namespace qkv::bench {
namespace {

double work(const Record& record) { return record.bytes > 0 ? record.bytes : record.flops; }

}  // namespace

double call_seconds(const Record& record) {
  const double middle = median(record.seconds);
  return middle < kShortCall ? smallest(record.seconds) : middle;
}

double rate(const Record& record) {
  const double seconds = call_seconds(record);
  return seconds > 0 ? work(record) / seconds : 0;
}

double share(const Record& record) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(record.seconds.size(), record.ceiling.size()); ++i)
    if (record.seconds[i] > 0 && record.ceiling[i] > 0)
      shares.push_back(work(record) / record.seconds[i] / record.ceiling[i]);
  return median(std::move(shares));
}

double share_of_best(const Record& record) {
  const double best = largest(record.ceiling);
  return best > 0 ? rate(record) / best : 0;
}

double speedup(const Record& record, const Record& other) {
  if (record.wall.size() != other.wall.size()) return 0;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < record.wall.size(); ++i)
    if (record.wall[i] > 0) ratios.push_back(other.wall[i] / record.wall[i]);
  return median(std::move(ratios));
}

}  // namespace qkv::bench
