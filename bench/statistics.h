// Medians and spreads of a few rounds.
#ifndef QKV_BENCH_STATISTICS_H_
#define QKV_BENCH_STATISTICS_H_

#include <vector>

namespace qkv::bench {

// 0 for no values.
double median(std::vector<double> values);
double largest(const std::vector<double>& values);
double smallest(const std::vector<double>& values);

// How far the median of these values may be from that of many more, as a share of it: the median distance from the
// median, made a standard deviation (1.4826) and divided by the root of their number. 0 for fewer than two.
double relative_noise(const std::vector<double>& values);

}  // namespace qkv::bench

#endif  // QKV_BENCH_STATISTICS_H_
