// The bridge from Target to Highway's target bits, for the files that dispatch.
#ifndef QKV_SRC_CORE_HWY_TARGET_H_
#define QKV_SRC_CORE_HWY_TARGET_H_

#include <cstdint>

#include "qkv/target.h"

namespace qkv {

// Highway's bit for a resolved target; 0 if the build does not have it.
std::int64_t highway_bits(Target target);

}  // namespace qkv

#endif  // QKV_SRC_CORE_HWY_TARGET_H_
