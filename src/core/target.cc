// Which SIMD targets exist here; the only place that maps our names to Highway's bits.
#include "qkv/target.h"

#include <cstdlib>
#include <string>

#include "hwy/targets.h"
#include "src/core/hwy_target.h"

namespace qkv {
namespace {

struct TargetRow {
  Target target;
  std::string_view name;
  std::int64_t highway;  // 0: not one of Highway's
};
constexpr TargetRow kTargets[] = {
    {Target::kAuto, "auto", 0},
    {Target::kAvx512, "avx512", HWY_AVX3},
    {Target::kAvx2, "avx2", HWY_AVX2},
    {Target::kNeon, "neon", HWY_NEON},
    {Target::kWasm, "wasm", HWY_WASM},
    // g++ 12 has no EMU128, so Highway's floor is one-lane SCALAR there.
    {Target::kPortable, "portable", HWY_EMU128 | HWY_SCALAR},
};

// Asked once: CPUID takes tens of microseconds where a hypervisor answers it.
std::int64_t usable_targets() {
  static const std::int64_t usable = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
  return usable;
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
                          "'; expected one of: auto avx512 avx2 neon wasm portable");
}

std::int64_t highway_bits(Target target) {
  for (const TargetRow& row : kTargets)
    if (row.target == target) return row.highway & HWY_TARGETS;
  return 0;
}

std::vector<Target> available_targets() {
  std::vector<Target> targets;
  for (const TargetRow& row : kTargets)
    if ((row.highway & usable_targets()) != 0) targets.push_back(row.target);
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
  for (const TargetRow& row : kTargets)  // best first
    if ((row.highway & usable_targets()) != 0 && (requested == Target::kAuto || requested == row.target))
      return row.target;
  return unsupported("target " + std::string(to_string(requested)) +
                     " is not available here; this machine and build have: " + joined(available_targets()));
}

}  // namespace qkv
