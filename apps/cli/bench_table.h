// The table that `qkv bench` prints, a row as soon as it is measured.
#ifndef QKV_APPS_CLI_BENCH_TABLE_H_
#define QKV_APPS_CLI_BENCH_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "bench/record.h"

namespace qkv::cli {

struct BenchColumns {
  bool speedup = false;  // several numbers of threads: against the first of them
  bool change = false;   // against an older run
  int width = 80;        // of the whole table; a problem's words are wrapped to fit
};

// A call's time in the unit that fits: "412 ns" "25.7 ms".
std::string call_time(double seconds);

// One table in the order in which rows come; a pass, or a change of it, gets a heading.
class BenchTable {
 public:
  BenchTable(std::ostream& out, const BenchColumns& columns) : out_(out), columns_(columns) {}

  // The records of one problem (one a number of threads). `old_records` is the run to compare with.
  void add(const std::vector<bench::Record>& records, const std::vector<bench::Record>& old_records = {});

  // What the columns mean; nothing if no row was printed.
  void finish();

 private:
  void heading(const bench::Record& record);
  void row(const bench::Record& record, const bench::Record& first, const std::vector<bench::Record>& old_records);

  std::ostream& out_;
  const BenchColumns columns_;
  std::string heading_;  // the last one
  bool has_short_call_ = false, has_sample_ = false;
  std::size_t fewest_rounds_ = 0, most_rounds_ = 0;  // an interrupted row has fewer
};

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_BENCH_TABLE_H_
