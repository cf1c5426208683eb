// Rank and layout of q, given to o and lse.
#include "apps/python/attention_results.h"

#include "apps/python/arguments.h"
#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

// [B,Hq,Tq,Dv] in the rank and order of axes that Python uses.
Dims shown(const Dims& shape, DType dtype, Layout layout, int rank) {
  if (rank == kMaxRank && layout == Layout::kBHTD) return shape;
  return without_leading_axes(View<const void>(nullptr, dtype, shape), layout, rank).shape;
}

// [B,Hq,Tq] without the leading axes that q lacks.
Dims lse_shown(const Dims& shape, int rank) {
  Dims kept;
  for (int axis = kMaxRank - rank; axis < 3; ++axis) kept.push_back(shape[axis]);
  return kept;
}

}  // namespace

AttentionResults::AttentionResults(const View<const void>& q, Layout layout, const Dims& shape, nb::tuple wanted,
                                   nb::handle like)
    : o_(given_or_new("out", wanted[0], q.dtype, shown(shape, q.dtype, layout, q.shape.rank()), like)) {
  views_.o = with_four_axes(o_.view(), layout);
  if (!as_flag("return_lse", wanted[1])) return;
  const DType type = q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  lse_ = Written(type, lse_shown(shape, q.shape.rank()), like);
  const View<const void> three = padded(lse_.view(), 3);
  views_.lse = View<void>(lse_.view().data, type, three.shape);
}

nb::object AttentionResults::take() {
  if (!views_.lse.is_present()) return o_.take();
  nb::object o = o_.take();
  return nb::make_tuple(std::move(o), lse_.take());
}

}  // namespace qkv::python
