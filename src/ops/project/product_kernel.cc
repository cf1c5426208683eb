// The products, compiled once per SIMD target; dispatched at the end of the file.
#include "src/ops/project/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/project/product_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/project/product-inl.h"
#include "src/ops/project/row_passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
ProductKernel products_of() {
  return {sizeof(C),       panel_width<C>(),  &buffer_elements<C>,
          &multiply<C>,    &pack_few_rows<C>, &multiply_few_rows<C>,
          &sum_columns<C>, &copy_rows<C>,     &add_runs<C>};
}

ProductKernel make_products(DType dtype) { return dtype == DType::kF64 ? products_of<double>() : products_of<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_products);

ProductKernel product_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_products), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
