// Records as JSON: what `qkv bench --json` writes, and what --compare and bench/peers.py read.
#ifndef QKV_BENCH_RECORD_JSON_H_
#define QKV_BENCH_RECORD_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "bench/record.h"

namespace qkv::bench {

// {"kind": "bench", "version": ..., "machine": ..., "rows": [{"pass": "forward", "problem": "attention ...",
//   "threads": 1, "threads_ran": 1, "target": "avx512", "calls": 1, "seconds": [...], "wall": [...], "ceiling": [...],
//   "flops": ..., "bytes": 0, "scratch_bytes": 0, "error": 4e-7, "rows_checked": 192, "rows": 12288, "failure": "",
//   "share": 0.9}]}
// seconds, wall and ceiling have an entry a round; share is the median of their ratios, for readers in a hurry.
std::string to_json(const std::vector<Record>& records, std::string_view machine);

// Errors: kCorruptFile for text that is no JSON or lacks a field (the message names it).
Result<std::vector<Record>> records_from_json(std::string_view text);

}  // namespace qkv::bench

#endif  // QKV_BENCH_RECORD_JSON_H_
