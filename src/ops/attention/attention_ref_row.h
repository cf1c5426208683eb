// One row of scores on its way to weights in float64: what the forward and the backward reference share.
#ifndef QKV_SRC_OPS_ATTENTION_ATTENTION_REF_ROW_H_
#define QKV_SRC_OPS_ATTENTION_ATTENTION_REF_ROW_H_

#include <cstdint>

#include "qkv/reference.h"
#include "src/core/check_attention.h"
#include "src/ops/attention/attention_ref_rules.h"
#include "src/ops/softmax/softmax_ref.h"

namespace qkv::reference {

// Element [a,b,c,d] of a rank-4 view. Constraint: the indices are inside.
inline double element_at(const View<const void>& view, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const Dims& step = view.strides;
  const std::int64_t offset = a * step[0] + b * step[1] + c * step[2] + d * step[3];
  if (view.dtype == DType::kF64) return static_cast<const double*>(view.data)[offset];  // most tests: skip the switch
  return element_as_double(view, offset);
}

// The stages of one row, Tk numbers each. Without a softcap `capped` is `scaled`, without bias and slopes `biased` is
// `capped`. Before `masked` an entry that is not seen is computed only for a trace.
struct ScoreRow {
  double* raw = nullptr;
  double* scaled = nullptr;
  double* capped = nullptr;
  double* biased = nullptr;
  double* masked = nullptr;  // kHidden where not allowed
  double* p = nullptr;
  RowSum sum;

  bool sees(std::int64_t j) const { return masked[j] != kHidden; }
};

// Computes rows one after the other, into memory for a single row or into a trace.
// Constraint: check_attention() passed; what the constructor is given outlives the object.
class ScoreRows {
 public:
  // With a trace the stages q k v raw scaled capped biased masked p are appended to it. Errors: kOutOfMemory.
  static Result<ScoreRows> create(const AttentionShape& shape, const AttentionInputs& inputs,
                                  const AttentionOptions& options, Trace* trace);

  // The row's memory is valid until the next call (with a trace: while the trace lives).
  ScoreRow make(RowIndex row) const;

 private:
  ScoreRows(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options)
      : shape_(shape), inputs_(inputs), options_(options), scale_(resolve_scale(shape, options)) {}
  Status allocate_row();
  Status allocate_stages(Trace& trace);
  ScoreRow memory_of(RowIndex row) const;
  double dot(RowIndex row, std::int64_t j) const;

  const AttentionShape& shape_;
  const AttentionInputs& inputs_;
  const AttentionOptions& options_;
  double scale_;
  bool every_pair_ = false;    // a trace shows raw scores of keys that are not seen, too
  std::int64_t row_step_ = 0;  // Tk in a trace, 0 where one row's memory is used again
  Tensor scratch_;
  ScoreRow first_;  // the memory of row 0
};

}  // namespace qkv::reference

#endif  // QKV_SRC_OPS_ATTENTION_ATTENTION_REF_ROW_H_
