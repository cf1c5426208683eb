// Probes: one problem after the other, each seeded by its number.
#include "src/check/probes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "src/check/special_probes.h"

namespace qkv::check {
namespace {

constexpr std::int64_t kBatch = 2, kQueryHeads = 6, kKvHeads = 2, kQueries = 3, kKeys = 5, kWidth = 7, kValueWidth = 11;

ProbeSetting left_out() {
  return {"", [](Problem&) {}};
}

ProbeSetting causal(std::string name, Corner corner, std::int64_t offset = 0) {
  return {std::move(name), [corner, offset](Problem& problem) {
            problem.causality = Causality::kCausal;
            problem.corner = corner;
            problem.offset = offset;
          }};
}

// A window or slopes need a corner where causal has not chosen one; `finished` gives it.
ProbeSetting window(std::string name, Window window) {
  return {std::move(name), [window](Problem& problem) { problem.window = window; }};
}

ProbeSetting keep(std::string name, Dims shape) {
  return {std::move(name), [shape](Problem& problem) { problem.keep = shape; }};
}

ProbeSetting bias(std::string name, Dims shape) {
  return {std::move(name), [shape](Problem& problem) { problem.bias = shape; }};
}

ProbeSetting heads(std::string name, std::int64_t query, std::int64_t kv) {
  return {std::move(name), [query, kv](Problem& problem) {
            problem.query_heads = query;
            problem.kv_heads = kv;
          }};
}

bool needs_corner(const Problem& problem) {
  return problem.causality == Causality::kCausal || problem.window != Window{} || problem.slopes;
}

// A probe with what its settings left open. Masks and biases follow the heads and the lengths.
Problem finished(Problem problem, std::uint64_t number) {
  problem.seed += number;
  if (needs_corner(problem) && problem.corner == Corner::kUnset) problem.corner = Corner::kBottomRight;
  if (problem.layer.fused) problem.value_width = problem.width;
  const std::int64_t sizes[] = {problem.key_length, problem.query_length, problem.query_heads};
  for (std::optional<Dims>* shape : {&problem.keep, &problem.bias})
    for (int axis = 0; *shape && axis < std::min((*shape)->rank(), 3); ++axis)
      if (std::int64_t& extent = (**shape)[(*shape)->rank() - 1 - axis]; extent > 1) extent = sizes[axis];
  return problem;
}

// What the scores of every operation with heads may have.
std::vector<ProbeFactor> of_scores() {
  return {
      {"window",
       {left_out(), window("window=1,0", {1, 0}), window("window=0,1", {0, 1}), window("window=2,-1", {2, -1})}},
      {"keep",
       {left_out(), keep("keep=2x1x3x5", {kBatch, 1, kQueries, kKeys}),
        keep("keep=6x3x5", {kQueryHeads, kQueries, kKeys}), keep("keep=3x5", {kQueries, kKeys})}},
      {"key_mask", {left_out(), {"key_mask", [](Problem& problem) { problem.key_mask = true; }}}},
      {"bias",
       {left_out(), bias("bias=6x3x5", {kQueryHeads, kQueries, kKeys}), bias("bias=2x1x1x5", {kBatch, 1, 1, kKeys})}},
      {"softcap", {left_out(), {"softcap=1.5", [](Problem& problem) { problem.softcap = 1.5; }}}},
      {"sinks", {left_out(), {"sinks", [](Problem& problem) { problem.sinks = true; }}}},
      {"lengths", {left_out(), {"lengths=4,2", [](Problem& problem) { problem.key_lengths = {4, 2}; }}}},
      {"slopes", {left_out(), {"slopes", [](Problem& problem) { problem.slopes = true; }}}},
      {"scale", {left_out(), {"scale=0.7", [](Problem& problem) { problem.scale = 0.7; }}}},
  };
}

// What a layer or a layernorm has around its heads.
std::vector<ProbeFactor> around_heads(Operation operation) {
  const ProbeSetting eps{"eps=0.5", [](Problem& problem) {
                           problem.layer.norm = true;
                           problem.layer.eps = 0.5;
                         }};
  const ProbeFactor far{"shift", {left_out(), {"shift=30", [](Problem& problem) { problem.layer.shift = 30; }}}};
  if (operation == Operation::kLayerNorm) return {{"eps", {left_out(), eps}}, far};
  return {
      {"norm", {left_out(), {"norm", [](Problem& problem) { problem.layer.norm = true; }}, eps}},
      {"fused", {left_out(), {"fused", [](Problem& problem) { problem.layer.fused = true; }}}},
      {"biases", {left_out(), {"biases", [](Problem& problem) { problem.layer.biases = true; }}}},
      {"output", {left_out(), {"no output projection", [](Problem& problem) { problem.layer.out_channels = 0; }}}},
  };
}

// Two settings, as (factor, setting) each; the smaller factor first.
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

class PairCover {
 public:
  explicit PairCover(const std::vector<ProbeFactor>& factors) : factors_(factors) {
    for (std::size_t a = 0; a < factors.size(); ++a)
      for (std::size_t b = a + 1; b < factors.size(); ++b)
        for (std::size_t x = 0; x < factors[a].settings.size(); ++x)
          for (std::size_t y = 0; y < factors[b].settings.size(); ++y) open_.insert({a, x, b, y});
  }

  bool is_done() const { return open_.empty(); }

  // The settings of one more row: it starts with an open pair and takes for every other factor the setting that closes
  // the most pairs.
  std::vector<std::size_t> next_row() {
    constexpr std::size_t kUnset = static_cast<std::size_t>(-1);
    std::vector<std::size_t> row(factors_.size(), kUnset);
    const auto [a, x, b, y] = *open_.begin();
    row[a] = x;
    row[b] = y;
    for (std::size_t factor = 0; factor < factors_.size(); ++factor) {
      if (row[factor] != kUnset) continue;
      std::size_t best = 0;
      int most = -1;
      for (std::size_t setting = 0; setting < factors_[factor].settings.size(); ++setting) {
        int closes = 0;
        for (std::size_t other = 0; other < factors_.size(); ++other)
          if (row[other] != kUnset) closes += static_cast<int>(open_.count(pair(factor, setting, other, row[other])));
        if (closes > most) std::tie(best, most) = std::pair(setting, closes);
      }
      row[factor] = best;
    }
    for (std::size_t one = 0; one < row.size(); ++one)
      for (std::size_t other = one + 1; other < row.size(); ++other) open_.erase({one, row[one], other, row[other]});
    return row;
  }

 private:
  static Pair pair(std::size_t a, std::size_t x, std::size_t b, std::size_t y) {
    return a < b ? Pair{a, x, b, y} : Pair{b, y, a, x};
  }

  const std::vector<ProbeFactor>& factors_;
  std::set<Pair> open_;
};

}  // namespace

std::vector<ProbeFactor> probe_factors(Operation operation) {
  if (operation == Operation::kLayerNorm) return around_heads(operation);
  const ProbeFactor causal_corners{
      "causal",
      {left_out(), causal("causal=bottom_right", Corner::kBottomRight), causal("causal=top_left", Corner::kTopLeft),
       causal("causal=offset:1", Corner::kOffset, 1)}};
  const ProbeFactor one_causal{"causal", {left_out(), causal("causal", Corner::kUnset)}};
  const ProbeFactor tokens{"tokens", {left_out(), {"T2x5", [](Problem& problem) { problem.query_length = 2; }}}};
  std::vector<ProbeFactor> factors = of_scores();
  const bool is_decode = operation == Operation::kDecode;
  const bool is_layer = operation == Operation::kLayer;
  factors.insert(factors.begin(), is_decode ? tokens : is_layer ? one_causal : causal_corners);
  if (!is_layer)
    factors.push_back({"layout", {left_out(), {"bthd", [](Problem& problem) { problem.layout = Layout::kBTHD; }}}});
  factors.push_back({"heads", {left_out(), heads("H6/3", 6, 3), heads("H4", 4, 4), heads("H5/1", 5, 1)}});
  if (is_layer) std::ranges::move(around_heads(operation), std::back_inserter(factors));
  return factors;
}

Problem first_probe(const ProbeOptions& options) {
  Problem problem;
  problem.operation = options.operation;
  problem.batch = kBatch;
  problem.query_length = kQueries;
  problem.key_length = kKeys;
  problem.dtype = options.dtype;
  problem.backward = options.backward;
  problem.seed = options.seed;
  if (options.operation == Operation::kLayerNorm) {
    problem.key_length = kQueries;
    problem.layer.channels = 11;
    problem.layer.norm = true;
    return problem;
  }
  problem.query_heads = kQueryHeads;
  problem.kv_heads = kKvHeads;
  problem.width = kWidth;
  problem.value_width = kValueWidth;
  if (options.operation == Operation::kLayer) {
    problem.query_length = kKeys;
    problem.layer.channels = 20;
    problem.layer.out_channels = 13;
    return problem;
  }
  problem.lse = options.lse;
  if (options.operation != Operation::kDecode) return problem;
  problem.query_length = 1;
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  return problem;
}

std::vector<Problem> single_probes(const ProbeOptions& options, const std::vector<ProbeFactor>& factors) {
  std::vector<Problem> probes;
  for (const ProbeFactor& factor : factors)
    for (std::size_t setting = 1; setting < factor.settings.size(); ++setting) {
      Problem problem = first_probe(options);
      factor.settings[setting].set(problem);
      probes.push_back(finished(problem, 1 + probes.size()));
    }
  return probes;
}

std::vector<Problem> pair_probes(const ProbeOptions& options, const std::vector<ProbeFactor>& factors) {
  constexpr std::uint64_t kFirstSeed = 100;
  std::vector<Problem> probes;
  PairCover cover(factors);
  while (!cover.is_done()) {
    const std::vector<std::size_t> row = cover.next_row();
    Problem problem = first_probe(options);
    // Heads first: masks and biases follow them.
    for (std::size_t factor = 0; factor < row.size(); ++factor) factors[factor].settings[row[factor]].set(problem);
    probes.push_back(finished(problem, kFirstSeed + probes.size()));
  }
  return probes;
}

std::vector<Problem> special_probes(const ProbeOptions& options) {
  constexpr std::uint64_t kFirstSeed = 200;
  std::vector<Problem> probes;
  switch (options.operation) {
    case Operation::kAttention: probes = special_attention(options); break;
    case Operation::kDecode: probes = special_decodes(options); break;
    case Operation::kLayer: probes = special_layers(options); break;
    case Operation::kLayerNorm: probes = special_norms(options); break;
  }
  for (std::size_t at = 0; at < probes.size(); ++at) probes[at] = finished(std::move(probes[at]), kFirstSeed + at);
  return probes;
}

}  // namespace qkv::check
