// Two runs of the same rows: what became faster or slower, and whether that is more than noise.
#ifndef QKV_BENCH_COMPARE_RECORDS_H_
#define QKV_BENCH_COMPARE_RECORDS_H_

#include <optional>
#include <vector>

#include "bench/record.h"

namespace qkv::bench {

struct Change {
  double ratio = 0;       // new speed over old: above 1 is faster
  double noise = 0;       // of the ratio: the spread of both runs' rounds, as a standard deviation
  bool is_clear() const;  // further from 1 than twice the noise
};

// The change of a row against the same row (pass, problem, threads, target) among `old_records`; nothing if it is not
// there. Speeds are shares of the ceiling, so that a machine that is slower today changes nothing; for short calls and
// without a ceiling they are times.
std::optional<Change> change_of(const Record& record, const std::vector<Record>& old_records);

}  // namespace qkv::bench

#endif  // QKV_BENCH_COMPARE_RECORDS_H_
