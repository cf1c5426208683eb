// The backward pass, compiled once per SIMD target, dispatched at the end of the file.
#include "src/ops/attention/backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/attention/backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/attention/gradient_bias-inl.h"
#include "src/ops/attention/gradient_panel-inl.h"
#include "src/ops/attention/gradient_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
void run_gradient_task(const BackwardCall& call, std::int64_t task, void* memory) {
  if (task < call.cuts.row_tasks) return run_gradient_rows<C>(call, task, memory);
  task -= call.cuts.row_tasks;
  if (task < call.cuts.panel_tasks) return run_gradient_panel<C>(call, task, memory);
  run_gradient_bias<C>(call, task - call.cuts.panel_tasks, memory);
}

template <class C>
BackwardKernel gradient_kernel_of() {
  return {block_width<C>(), &gradient_scratch_bytes<C>, &run_gradient_task<C>};
}

BackwardKernel make_gradient_kernel(DType dtype) {
  return dtype == DType::kF64 ? gradient_kernel_of<double>() : gradient_kernel_of<float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_gradient_kernel);

BackwardKernel backward_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_gradient_kernel), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
