// Which SIMD targets exist here; the only place that maps our names to Highway's bits.
#include "qkv/target.h"

#include <cstdlib>
#include <iterator>
#include <string>

#include "hwy/targets.h"
#include "src/core/hwy_target.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace qkv {
namespace {

// What this machine can run; asked once, since CPUID takes tens of microseconds where a hypervisor answers it.
struct Machine {
#ifdef HWY_COMPILE_ONLY_STATIC
  std::int64_t usable = HWY_STATIC_TARGET;  // Highway's library, which knows the machine's targets, is not linked
#else
  std::int64_t usable = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
#endif
  bool bf16_products = false;
  bool prefers_bf16_products = false;  // AMD's cores issue them at the rate of f32 FMAs, Intel's at a quarter

#if HWY_ARCH_X86
  Machine() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kBf16 = 1U << 5;  // leaf 7, subleaf 1, EAX: AVX512_BF16
    bf16_products =
        (usable & HWY_AVX3) != 0 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kBf16) != 0;
    constexpr unsigned kAuth = 0x68747541;  // "Auth" of "AuthenticAMD"
    prefers_bf16_products = __get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0 && ebx == kAuth;
  }
#endif
};

const Machine& machine() {
  static const Machine here;
  return here;
}

struct TargetRow {
  Target target;
  std::string_view name;
  std::int64_t highway;  // 0: not one of Highway's
};
// Best first, but for avx512bf16 on a machine that does not prefer it.
constexpr TargetRow kTargets[] = {
    {Target::kAuto, "auto", 0},
    {Target::kAvx512Bf16, "avx512bf16", HWY_AVX3},
    {Target::kAvx512, "avx512", HWY_AVX3},
    {Target::kAvx2, "avx2", HWY_AVX2},
    {Target::kNeon, "neon", HWY_NEON},
    {Target::kWasm, "wasm", HWY_WASM},
    // g++ 12 has no EMU128, so Highway's floor is one-lane SCALAR there.
    {Target::kPortable, "portable", HWY_EMU128 | HWY_SCALAR},
};

bool is_available(const TargetRow& row) {
  return (row.highway & machine().usable) != 0 && (row.target != Target::kAvx512Bf16 || machine().bf16_products);
}

// The rank of an available target; the smaller, the better.
std::size_t rank_of(std::size_t row) {
  const bool demoted = kTargets[row].target == Target::kAvx512Bf16 && !machine().prefers_bf16_products;
  return demoted ? 2 * row + 3 : 2 * row;
}

std::string joined(const std::vector<Target>& targets) {
  std::string text;
  for (Target target : targets) {
    if (!text.empty()) text += " ";
    text += to_string(target);
  }
  return text;
}

}  // namespace

std::string_view to_string(Target target) {
  for (const TargetRow& row : kTargets)
    if (row.target == target) return row.name;
  return "unknown";
}

Result<Target> parse_target(std::string_view name) {
  for (const TargetRow& row : kTargets)
    if (row.name == name) return row.target;
  return invalid_argument("unknown target '" + std::string(name) +
                          "'; expected one of: auto avx512 avx512bf16 avx2 neon wasm portable");
}

std::int64_t highway_bits(Target target) {
  for (const TargetRow& row : kTargets)
    if (row.target == target) return row.highway & HWY_TARGETS;
  return 0;
}

std::vector<Target> available_targets() {
  std::vector<Target> targets;
  for (std::size_t rank = 0; rank < 2 * std::size(kTargets) + 3; ++rank)
    for (std::size_t row = 0; row < std::size(kTargets); ++row)
      if (rank_of(row) == rank && is_available(kTargets[row])) targets.push_back(kTargets[row].target);
  return targets;
}

Result<Target> resolve_target(Target requested) {
  if (requested == Target::kAuto) {
    if (const char* forced = std::getenv("QKV_TARGET"); forced != nullptr && *forced != '\0') {
      Result<Target> parsed = parse_target(forced);
      if (!parsed.is_ok()) return invalid_argument("environment variable QKV_TARGET: " + parsed.status().message());
      requested = *parsed;
    }
  }
  // No list of targets here: every call comes by, and a list allocates.
  const TargetRow* best = nullptr;
  for (std::size_t row = 0; row < std::size(kTargets); ++row) {
    if (!is_available(kTargets[row]) || (requested != Target::kAuto && requested != kTargets[row].target)) continue;
    if (best == nullptr || rank_of(row) < rank_of(static_cast<std::size_t>(best - kTargets))) best = &kTargets[row];
  }
  if (best != nullptr) return best->target;
  return unsupported("target " + std::string(to_string(requested)) +
                     " is not available here; this machine and build have: " + joined(available_targets()));
}

}  // namespace qkv
