// What a problem of attention may have, to be tried in pairs.
#ifndef QKV_TESTS_ATTENTION_FEATURES_H_
#define QKV_TESTS_ATTENTION_FEATURES_H_

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "qkv/problem.h"
#include "tests/attention_testing.h"

namespace qkv {

// One thing that a problem may have; every two of them must hold together.
struct Feature {
  const char* name;
  void (*add)(Problem& problem);
};

inline const Feature kFeatures[] = {
    {"causal", [](Problem& p) { p.causality = Causality::kCausal; }},
    {"window", [](Problem& p) { p.window = {20, 3}; }},
    {"left window", [](Problem& p) { p.window = {5, -1}; }},
    {"keep", [](Problem& p) { p.keep = Dims{2, 1, 37, 70}; }},
    {"head keep", [](Problem& p) { p.keep = Dims{6, 1, 70}; }},
    {"key mask", [](Problem& p) { p.key_mask = true; }},
    {"bias", [](Problem& p) { p.bias = Dims{6, 37, 70}; }},
    {"key bias", [](Problem& p) { p.bias = Dims{2, 1, 1, 70}; }},
    {"lengths", [](Problem& p) { p.key_lengths = {67, 30}; }},
    {"slopes", [](Problem& p) { p.slopes = true; }},
    {"sinks", [](Problem& p) { p.sinks = true; }},
    {"scale", [](Problem& p) { p.scale = -0.7; }},
    {"softcap", [](Problem& p) { p.softcap = 1.5; }},
    {"packed",
     [](Problem& p) {
       p.batch = 1;
       p.cu_seqlens_q = {0, 5, 5, 37};
       p.cu_seqlens_k = {0, 9, 20, 70};
     }},
    {"bthd", [](Problem& p) { p.layout = Layout::kBTHD; }},
};

// Packed sequences lie in a batch of 1, whatever else was asked for.
inline void fit_to_batch(Problem& problem) {
  if (problem.batch != 1) return;
  if (!problem.key_lengths.empty()) problem.key_lengths = {60};
  for (std::optional<Dims>* dims : {&problem.keep, &problem.bias})
    if (*dims && (*dims)->rank() == kMaxRank) (**dims)[0] = 1;
}

// Calls visit(problem) for two features together, at every corner where they depend on positions.
template <class Visit>
void for_each_corner(const Feature& first, const Feature& second, DType dtype, const Visit& visit) {
  Problem problem = problem_of("attention B2 H6/2 T37x70 D7/11 seed=11");
  problem.dtype = dtype;
  first.add(problem);
  second.add(problem);
  fit_to_batch(problem);
  const bool placed = problem.causality == Causality::kCausal || problem.window != Window{} || problem.slopes;
  for (const Corner corner : {Corner::kTopLeft, Corner::kBottomRight, Corner::kOffset}) {
    problem.corner = placed ? corner : Corner::kUnset;
    problem.offset = problem.corner == Corner::kOffset ? 7 : 0;
    visit(problem);
    if (!placed) break;
  }
}

// Calls visit(problem) for every two features, in f32.
template <class Visit>
void for_each_pair(const Visit& visit) {
  for (const Feature& first : kFeatures)
    for (const Feature& second : kFeatures) {
      SCOPED_TRACE(std::string(first.name) + " and " + second.name);
      for_each_corner(first, second, DType::kF32, visit);
    }
}

// The same, in the other types by turns.
template <class Visit>
void for_each_pair_in_other_types(const Visit& visit) {
  std::size_t turn = 0;
  for (const Feature& first : kFeatures)
    for (const Feature& second : kFeatures) {
      SCOPED_TRACE(std::string(first.name) + " and " + second.name);
      for_each_corner(first, second, std::array{DType::kF64, DType::kBF16, DType::kF16}[turn++ % 3], visit);
    }
}

}  // namespace qkv

#endif  // QKV_TESTS_ATTENTION_FEATURES_H_
