// Names of the passes.
#include "bench/pass.h"

#include <iterator>
#include <string>

namespace qkv::bench {
namespace {

struct Name {
  Pass pass;
  std::string_view name;
};
constexpr Name kNames[] = {
    {Pass::kForward, "forward"}, {Pass::kBackward, "backward"}, {Pass::kForwardBackward, "forward_backward"},
    {Pass::kDecode, "decode"},   {Pass::kLayer, "layer"},       {Pass::kLayerForwardBackward, "layer_forward_backward"},
    {Pass::kProject, "project"},
};

}  // namespace

std::string_view to_string(Pass pass) {
  for (const Name& known : kNames)
    if (known.pass == pass) return known.name;
  return "";
}

Result<Pass> parse_pass(std::string_view name) {
  std::string names;
  for (const Name& known : kNames) {
    if (known.name == name) return known.pass;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return invalid_argument("there is no pass '" + std::string(name) + "'; expected one of: " + names);
}

std::vector<Pass> all_passes() {
  std::vector<Pass> passes;
  passes.reserve(std::size(kNames));
  for (const Name& known : kNames) passes.push_back(known.pass);
  return passes;
}

}  // namespace qkv::bench
