// q, k and v as plain numbers, read rightly or with a mistake.
#ifndef QKV_SRC_CHECK_VARIANT_INPUTS_H_
#define QKV_SRC_CHECK_VARIANT_INPUTS_H_

#include <vector>

#include "qkv/attention.h"
#include "src/check/mistake_set.h"
#include "src/core/check_attention.h"

namespace qkv::check {

// Contiguous: q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv].
struct VariantInputs {
  std::vector<double> q, k, v;
  // Rows of q and k with what lies behind them; padded_width is 0 unless D is padded.
  std::vector<double> padded_q, padded_k;
  std::int64_t padded_width = 0;
};

// The elements of a rank-4 view in the order of their indices.
std::vector<double> elements_in_order(View<const void> view);

// Axes 1 and 2 of a contiguous tensor exchanged: (a,c,b,d) of the result is (a,b,c,d) of `values`.
std::vector<double> axes_exchanged(const std::vector<double>& values, const Dims& shape);

VariantInputs read_inputs(const AttentionShape& shape, const AttentionInputs& inputs, const MistakeSet& mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_INPUTS_H_
