// The ceiling of a core: fused multiply-adds a second, with nothing else in the way.
#ifndef QKV_BENCH_PEAK_H_
#define QKV_BENCH_PEAK_H_

#include "qkv/target.h"

namespace qkv::bench {

// f32 flops a second of one core while it does only independent FMAs in the widest vectors of `target`, over about
// `seconds`. 0 where there is no loop for the target (portable, wasm).
double measure_fma_peak(Target target, double seconds);

// Seconds of this thread's CPU time: what it computed, not what others took from it.
double thread_seconds();

}  // namespace qkv::bench

#endif  // QKV_BENCH_PEAK_H_
