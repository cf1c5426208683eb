// A cache before and after a decode step, and what a mistaken step finds in it.
#ifndef QKV_SRC_CHECK_VARIANT_CACHE_H_
#define QKV_SRC_CHECK_VARIANT_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/check/generate.h"
#include "src/check/mistake_set.h"
#include "src/check/variant.h"

namespace qkv::check {

// Contiguous and of the problem's type: k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv], lengths [B].
struct CacheState {
  Tensor k, v;
  std::vector<std::int64_t> lengths;
};

// The tokens before the new ones; stale numbers in every other slot. Constraint: `asked` is a decode.
Result<CacheState> cache_before(const Case& asked);

// The new tokens alone: [B,Hkv,Tq,D] and [B,Hkv,Tq,Dv], contiguous.
Result<CacheState> new_tokens(const Case& asked);

// With the new tokens appended, rightly or as the mistakes have it; lengths are what the step attends to.
Result<CacheState> cache_after(const Case& asked, const MistakeSet& mistakes);

// The step with queries and sinks of its own: compute_variant() on what is in the cache after it.
Result<VariantResult> compute_decode_variant(const Case& asked, View<const void> q, std::span<const double> sinks,
                                             std::span<const Mistake> mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_CACHE_H_
