// Peak loops in assembly: from intrinsics a compiler made a third of the peak.
#include "bench/peak.h"

#include <ctime>

namespace qkv::bench {
namespace {

// 24 accumulators (12 with 16 registers) keep both FMA pipes busy through their latency of 4.
#if defined(__x86_64__)
#define QKV_FMA_512(i) "vfmadd231ps %%zmm0, %%zmm1, %%zmm" #i "\n"
#define QKV_FMA_256(i) "vfmadd231ps %%ymm0, %%ymm1, %%ymm" #i "\n"
constexpr double kFlops512 = 24 * 16 * 2;
constexpr double kFlops256 = 12 * 8 * 2;

void loop_512(long count) {
  // zmm16 to zmm25 have no name in a clobber list without AVX-512 flags; without those flags nobody else uses them.
  asm volatile(
      "vpxorq %%zmm0, %%zmm0, %%zmm0\n vpxorq %%zmm1, %%zmm1, %%zmm1\n"
      "1:\n" QKV_FMA_512(2) QKV_FMA_512(3) QKV_FMA_512(4) QKV_FMA_512(5) QKV_FMA_512(6) QKV_FMA_512(7) QKV_FMA_512(8)
          QKV_FMA_512(9) QKV_FMA_512(10) QKV_FMA_512(11) QKV_FMA_512(12) QKV_FMA_512(13) QKV_FMA_512(14) QKV_FMA_512(15)
              QKV_FMA_512(16) QKV_FMA_512(17) QKV_FMA_512(18) QKV_FMA_512(19) QKV_FMA_512(20) QKV_FMA_512(21)
                  QKV_FMA_512(22) QKV_FMA_512(23) QKV_FMA_512(24) QKV_FMA_512(25) "dec %0\n jnz 1b\n"
      : "+r"(count)
      :
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}

void loop_256(long count) {
  asm volatile(
      "vpxor %%ymm0, %%ymm0, %%ymm0\n vpxor %%ymm1, %%ymm1, %%ymm1\n"
      "1:\n" QKV_FMA_256(2) QKV_FMA_256(3) QKV_FMA_256(4) QKV_FMA_256(5) QKV_FMA_256(6) QKV_FMA_256(7) QKV_FMA_256(8)
          QKV_FMA_256(9) QKV_FMA_256(10) QKV_FMA_256(11) QKV_FMA_256(12) QKV_FMA_256(13) "dec %0\n jnz 1b\n"
      : "+r"(count)
      :
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13");
}
#elif defined(__aarch64__)
#define QKV_FMLA(i) "fmla v" #i ".4s, v0.4s, v1.4s\n"
constexpr double kFlops128 = 24 * 4 * 2;

void loop_neon(long count) {
  asm volatile(
      "movi v0.4s, #0\n movi v1.4s, #0\n"
      "1:\n" QKV_FMLA(2) QKV_FMLA(3) QKV_FMLA(4) QKV_FMLA(5) QKV_FMLA(6) QKV_FMLA(7) QKV_FMLA(8) QKV_FMLA(9)
          QKV_FMLA(10) QKV_FMLA(11) QKV_FMLA(12) QKV_FMLA(13) QKV_FMLA(14) QKV_FMLA(15) QKV_FMLA(16) QKV_FMLA(17)
              QKV_FMLA(18) QKV_FMLA(19) QKV_FMLA(20) QKV_FMLA(21) QKV_FMLA(22) QKV_FMLA(23) QKV_FMLA(24)
                  QKV_FMLA(25) "subs %0, %0, #1\n b.ne 1b\n"
      : "+r"(count)
      :
      : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
        "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");
}
#endif

// Runs `loop` in growing counts until it took `seconds`, and answers the last run's rate.
[[maybe_unused]] double rate(void (*loop)(long), double flops_per_turn, double seconds) {
  for (long count = 1000;; count *= 2) {
    const double start = thread_seconds();
    loop(count);
    const double took = thread_seconds() - start;
    if (took >= seconds) return flops_per_turn * static_cast<double>(count) / took;
  }
}

}  // namespace

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double measure_fma_peak(Target target, [[maybe_unused]] double seconds) {
#if defined(__x86_64__)
  if (target == Target::kAvx512) return rate(&loop_512, kFlops512, seconds);
  if (target == Target::kAvx2) return rate(&loop_256, kFlops256, seconds);
#elif defined(__aarch64__)
  if (target == Target::kNeon) return rate(&loop_neon, kFlops128, seconds);
#endif
  (void)target;
  return 0;
}

}  // namespace qkv::bench
