// Which instruction set a kernel runs on: what is compiled in, what this machine has, and how to force one.
#ifndef QKV_TARGET_H_
#define QKV_TARGET_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "qkv/status.h"

#pragma GCC visibility push(default)
namespace qkv {

enum class Target : std::uint8_t {
  kAuto,        // the best that the machine has
  kPortable,    // plain C++, every machine
  kAvx2,        // x86-64 with AVX2, FMA and F16C
  kAvx512,      // x86-64 with AVX-512 F, BW, CD, DQ, VL
  kAvx512Bf16,  // the same, and bf16 attention by vdpbf16ps; on Intel's cores that runs at half the f32 rate, so there
                // kAvx512 is the better one
  kNeon,        // AArch64
  kWasm,        // WebAssembly with 128-bit SIMD
};

std::string_view to_string(Target target);  // "auto" "portable" "avx2" "avx512" "avx512bf16" "neon" "wasm"
Result<Target> parse_target(std::string_view name);

// The targets in this build that this machine can run, best first; the portable floor is always the last.
std::vector<Target> available_targets();

// The target that a call will use.
// `requested` other than kAuto wins; else the environment variable QKV_TARGET; else the best available.
// Errors: kUnsupported if the machine or the build lacks it (the message lists what there is); kInvalidArgument if
// QKV_TARGET holds no target's name.
Result<Target> resolve_target(Target requested);

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_TARGET_H_
