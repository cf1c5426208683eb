// Peak loops in assembly: from intrinsics a compiler made a third of the peak.
#include "bench/peak.h"

#include <cstddef>
#include <ctime>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

namespace qkv::bench {
namespace {

// 24 accumulators (12 with 16 registers) keep both FMA pipes busy through their latency of 4.
// clang-format off
#define QKV_TIMES_12(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define QKV_TIMES_24(X) \
  QKV_TIMES_12(X) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25)
// clang-format on
#if defined(__x86_64__)
#define QKV_FMA_512_F32(i) "vfmadd231ps %%zmm0, %%zmm1, %%zmm" #i "\n"
#define QKV_FMA_512_F64(i) "vfmadd231pd %%zmm0, %%zmm1, %%zmm" #i "\n"
#define QKV_FMA_256_F32(i) "vfmadd231ps %%ymm0, %%ymm1, %%ymm" #i "\n"
#define QKV_FMA_256_F64(i) "vfmadd231pd %%ymm0, %%ymm1, %%ymm" #i "\n"

// zmm16 to zmm25 have no name in a clobber list without AVX-512 flags; without those flags nobody else uses them.
#define QKV_LOOP_512(name, fma)                                                                                     \
  void name(long count) {                                                                                           \
    asm volatile(                                                                                                   \
        "vpxorq %%zmm0, %%zmm0, %%zmm0\n vpxorq %%zmm1, %%zmm1, %%zmm1\n1:\n" QKV_TIMES_24(fma) "dec %0\n jnz 1b\n" \
        : "+r"(count)                                                                                               \
        :                                                                                                           \
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",   \
          "xmm12", "xmm13", "xmm14", "xmm15");                                                                      \
  }
#define QKV_LOOP_256(name, fma)                                                                                   \
  void name(long count) {                                                                                         \
    asm volatile(                                                                                                 \
        "vpxor %%ymm0, %%ymm0, %%ymm0\n vpxor %%ymm1, %%ymm1, %%ymm1\n1:\n" QKV_TIMES_12(fma) "dec %0\n jnz 1b\n" \
        : "+r"(count)                                                                                             \
        :                                                                                                         \
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
          "xmm12", "xmm13");                                                                                      \
  }
QKV_LOOP_512(loop_512_f32, QKV_FMA_512_F32)
QKV_LOOP_512(loop_512_f64, QKV_FMA_512_F64)
QKV_LOOP_256(loop_256_f32, QKV_FMA_256_F32)
QKV_LOOP_256(loop_256_f64, QKV_FMA_256_F64)
#elif defined(__aarch64__)
#define QKV_FMLA_F32(i) "fmla v" #i ".4s, v0.4s, v1.4s\n"
#define QKV_FMLA_F64(i) "fmla v" #i ".2d, v0.2d, v1.2d\n"
#define QKV_LOOP_128(name, fma)                                                                                  \
  void name(long count) {                                                                                        \
    asm volatile("movi v0.4s, #0\n movi v1.4s, #0\n1:\n" QKV_TIMES_24(fma) "subs %0, %0, #1\n b.ne 1b\n"         \
                 : "+r"(count)                                                                                   \
                 :                                                                                               \
                 : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", \
                   "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");          \
  }
QKV_LOOP_128(loop_neon_f32, QKV_FMLA_F32)
QKV_LOOP_128(loop_neon_f64, QKV_FMLA_F64)
#endif

// A loop and what one turn of it computes.
struct Loop {
  void (*run)(long count) = nullptr;
  double flops_per_turn = 0;
};

Loop loop_of(Target target, bool is_f64) {
  [[maybe_unused]] const double lanes_of_512 = is_f64 ? 8 : 16;
#if defined(__x86_64__)
  if (target == Target::kAvx512 || target == Target::kAvx512Bf16)
    return {is_f64 ? &loop_512_f64 : &loop_512_f32, 24 * lanes_of_512 * 2};
  if (target == Target::kAvx2) return {is_f64 ? &loop_256_f64 : &loop_256_f32, 12 * lanes_of_512 / 2 * 2};
#elif defined(__aarch64__)
  if (target == Target::kNeon) return {is_f64 ? &loop_neon_f64 : &loop_neon_f32, 24 * lanes_of_512 / 4 * 2};
#endif
  (void)target;
  return {};
}

// Turns that take about `seconds`, counted once.
long turns_for(const Loop& loop, double seconds) {
  constexpr double kTrial = 5e-4;
  for (long count = 1000;; count *= 2) {
    const double start = thread_seconds();
    loop.run(count);
    const double took = thread_seconds() - start;
    if (took >= kTrial) return static_cast<long>(static_cast<double>(count) * seconds / took) + 1;
  }
}

double rate(const Loop& loop, long count, double (*clock)()) {
  const double start = clock();
  loop.run(count);
  return loop.flops_per_turn * static_cast<double>(count) / (clock() - start);
}

}  // namespace

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double measure_fma_peak(Target target, double seconds, DType dtype, int threads) {
  const Loop loop = loop_of(target, dtype == DType::kF64);
  if (loop.run == nullptr) return 0;
  const long count = turns_for(loop, seconds);
  if (threads <= 1) return rate(loop, count, &thread_seconds);
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::latch start(threads);
  std::vector<std::thread> others;
  others.reserve(rates.size());
  for (std::size_t worker = 0; worker < rates.size(); ++worker)
    others.emplace_back([&, worker] {
      start.arrive_and_wait();
      rates[worker] = rate(loop, count, &wall_seconds);
    });
  for (std::thread& other : others) other.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace qkv::bench
