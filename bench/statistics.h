// Medians and spreads of a few rounds.
#ifndef QKV_BENCH_STATISTICS_H_
#define QKV_BENCH_STATISTICS_H_

#include <vector>

namespace qkv::bench {

// 0 for no values.
double median(std::vector<double> values);
double largest(const std::vector<double>& values);
double smallest(const std::vector<double>& values);

// How far values lie from their median, as a share of it: the median distance, made a standard deviation (1.4826). It
// is not divided by the root of their number: two runs differ by more than the rounds of one. 0 for fewer than two.
double relative_spread(const std::vector<double>& values);

}  // namespace qkv::bench

#endif  // QKV_BENCH_STATISTICS_H_
