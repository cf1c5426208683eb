// The bridge from Target to Highway's target bits, for the files that dispatch.
#ifndef QKV_SRC_CORE_HWY_TARGET_H_
#define QKV_SRC_CORE_HWY_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "hwy/targets.h"
#include "qkv/target.h"

namespace qkv {

// Highway's bit for a resolved target; 0 if the build does not have it.
std::int64_t highway_bits(Target target);

// The entry for a target of a table that HWY_EXPORT made.
// Highway's own chooser is one for the whole process, and a target is a property of a call. A build with one target
// (the portable floor, WebAssembly) has tables of one entry.
template <class Function, std::size_t kEntries>
Function dispatched(const Function (&table)[kEntries], Target target) {
  if constexpr (kEntries == 1) {
    (void)target;
    return table[0];
  } else {
    hwy::ChosenTarget chosen;
    chosen.Update(highway_bits(target));
    return table[chosen.GetIndex()];
  }
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_HWY_TARGET_H_
