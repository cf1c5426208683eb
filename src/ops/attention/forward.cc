// One block of queries against the keys that it may see: compiled once per SIMD target, dispatched at the end of the
// file.
#include "src/ops/attention/forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/attention/forward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/attention/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
ForwardKernel kernel_of() {
  return {static_cast<std::int64_t>(tile_width<C>()), static_cast<std::int64_t>(hn::MaxLanes(Tag<C>())),
          &task_scratch_bytes<C>, &run_task<C>};
}

ForwardKernel make_kernel(DType dtype) {
#if HWY_HAVE_FLOAT64
  if (dtype == DType::kF64) return kernel_of<double>();
#else  // Highway's WebAssembly has no vectors of f64
  if (dtype == DType::kF64) return {};
#endif
  return kernel_of<float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_kernel);

bool computes_by_pairs(Target target, const AttentionInputs& inputs) {
  return target == Target::kAvx512Bf16 && inputs.q.dtype == DType::kBF16 && inputs.q.shape[3] % 2 == 0;
}

bool holds_pairs(const View<const void>& view) {
  const bool even = view.strides[0] % 2 == 0 && view.strides[1] % 2 == 0 && view.strides[2] % 2 == 0;
  return even && view.strides[3] == 1 && reinterpret_cast<std::uintptr_t>(view.data) % sizeof(std::uint32_t) == 0;
}

ForwardKernel forward_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_kernel), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
