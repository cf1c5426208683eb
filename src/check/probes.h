// The problems that an implementation is asked: few, small, and lopsided, because symmetric shapes hide mistakes.
#ifndef QKV_SRC_CHECK_PROBES_H_
#define QKV_SRC_CHECK_PROBES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qkv/problem.h"

namespace qkv::check {

struct ProbeOptions {
  Operation operation = Operation::kAttention;
  DType dtype = DType::kF32;
  std::uint64_t seed = 0;
  bool backward = false;  // ask for gradients too
  bool lse = true;
  bool quick = false;  // the first probe, each option alone, and those for large scores and tile edges
};

// One option of a problem at one of its settings: "window=2,0".
struct ProbeSetting {
  std::string name;
  std::function<void(Problem&)> set;
};

// An option and its settings; the first one leaves it away.
struct ProbeFactor {
  std::string name;  // "window"
  std::vector<ProbeSetting> settings;
};

// The factors that are combined: of attention causal, window, masks, bias, softcap, sinks, lengths, slopes, scale,
// layout, heads; of the others those that they have, and what is around the heads of a layer.
std::vector<ProbeFactor> probe_factors(Operation operation);

// The first probe, no option: heads 6/2, D 7, Dv 11, B 2; of attention Tq 3, Tk 5; one new token of 5 of a decode; a
// layer of 5 tokens of 20 channels to 13; a layernorm of 3 tokens of 11 channels.
Problem first_probe(const ProbeOptions& options);

// Each setting alone on the first probe: what an implementation refuses here is left out of the pairs.
std::vector<Problem> single_probes(const ProbeOptions& options, const std::vector<ProbeFactor>& factors);

// Problems that hold every pair of settings of two different factors that can stand together.
// Cost: greedy, O(pairs²) steps.
std::vector<Problem> pair_probes(const ProbeOptions& options, const std::vector<ProbeFactor>& factors);

// What no pair shows: tile edges, one query, one key, scores far beyond exp's range, wide heads; of a layer square
// matrices, of a norm means far from 0.
std::vector<Problem> special_probes(const ProbeOptions& options);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PROBES_H_
