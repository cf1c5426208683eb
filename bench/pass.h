// What one row of a benchmark computes.
#ifndef QKV_BENCH_PASS_H_
#define QKV_BENCH_PASS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "qkv/problem.h"
#include "qkv/status.h"

namespace qkv::bench {

enum class Pass : std::uint8_t {
  kForward,
  kBackward,         // the gradients, given what the forward pass left
  kForwardBackward,  // both
  kDecode,           // Tq new tokens against a cache that holds Tk with them
  kLayer,            // LayerNorm, one fused projection, attention, output projection
  kLayerForwardBackward,
  kProject,  // the fused projection of a layer whose heads are the problem's
};

std::string_view to_string(Pass pass);
Result<Pass> parse_pass(std::string_view name);  // errors: kInvalidArgument with the known names
std::vector<Pass> all_passes();

// One row to measure.
struct Request {
  Pass pass = Pass::kForward;
  Problem problem;
  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace qkv::bench

#endif  // QKV_BENCH_PASS_H_
