// The ceiling of a core: fused multiply-adds a second, with nothing else in the way.
#ifndef QKV_BENCH_PEAK_H_
#define QKV_BENCH_PEAK_H_

#include "qkv/target.h"
#include "qkv/tensor.h"

namespace qkv::bench {

// Flops a second of `threads` cores that do only independent FMAs in the widest vectors of `target`, for about
// `seconds`: double lanes for f64, float lanes for every other type. One thread is timed by its CPU time, several by
// the wall clock, as the kernels beside them are. 0 where there is no loop for the target (portable, wasm).
double measure_fma_peak(Target target, double seconds, DType dtype = DType::kF32, int threads = 1);

// Seconds of this thread's CPU time: what it computed, not what others took from it.
double thread_seconds();

// Seconds of a clock that never goes back, from some start.
double wall_seconds();

}  // namespace qkv::bench

#endif  // QKV_BENCH_PEAK_H_
