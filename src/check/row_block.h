// A run of queries of one head, seen as a case of its own: what its rows must be costs a run's time, not the whole's.
#ifndef QKV_SRC_CHECK_ROW_BLOCK_H_
#define QKV_SRC_CHECK_ROW_BLOCK_H_

#include <cstdint>
#include <string>

#include "qkv/attention.h"
#include "src/core/check_attention.h"

namespace qkv::check {

// Queries [first, first + count) of one head of one batch entry.
struct RowRun {
  std::int64_t batch = 0;
  std::int64_t head = 0;  // query head
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// Views and spans into the whole case.
struct RowBlock {
  AttentionInputs inputs;    // q [1,1,count,D], k [1,1,Tk,D], v [1,1,Tk,Dv]
  AttentionOptions options;  // the whole's, its corner as an offset and its masks cut to the run
};

// Constraints: check_attention() gave `shape`; the run lies inside it; no packed sequences (cu_seqlens).
RowBlock row_block(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                   const RowRun& run);

// The run's part of [B,Hq,Tq,...], with batch and head as axes of extent 1.
View<const void> rows_of(View<const void> view, const RowRun& run);

struct SampledVerdict {
  bool passed = true;
  double largest_error = 0;  // of o, over the rows that were looked at
  std::int64_t rows = 0, of_rows = 0;
  std::string failure;  // of the first run that failed: which rows, and what was wrong with them
};

// Judges a forward pass by float64: all rows where that takes less than about `work` pairs times widths, else runs at
// the start, in the middle and at the end of a few heads. Packed sequences are always judged whole.
// Errors: as attention_forward.
Result<SampledVerdict> judge_rows(const AttentionInputs& inputs, const AttentionOptions& options,
                                  const AttentionOutputs& outputs, double work = 1e8);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_ROW_BLOCK_H_
