// The decode step: compiled once per SIMD target, dispatched at the end of the file.
#include "src/ops/attention/decode.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/attention/decode_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/attention/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
std::size_t decode_part_bytes(const AttentionShape& shape) {
  return PartArrays<C>(shape, nullptr).size;
}
template <class C>
std::size_t decode_scratch_bytes(const DecodeCall& call) {
  return DecodeScratch<C>(call, nullptr).size;
}

template <class C>
DecodeKernel decode_kernel_of() {
  return {&decode_part_bytes<C>, &decode_scratch_bytes<C>, &run_decode<C>, &finish_decode<C>};
}

DecodeKernel make_decode_kernel(DType dtype) {
  return dtype == DType::kF64 ? decode_kernel_of<double>() : decode_kernel_of<float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_decode_kernel);

DecodeKernel decode_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_decode_kernel), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
