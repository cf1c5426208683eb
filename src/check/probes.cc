// Probes: one problem after the other, each seeded by its number.
#include "src/check/probes.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

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

// A probe with what its settings left open. Masks and biases with a head axis follow the number of heads.
Problem finished(Problem problem, std::uint64_t number) {
  problem.seed += number;
  if (needs_corner(problem) && problem.corner == Corner::kUnset) problem.corner = Corner::kBottomRight;
  const auto with_heads = [&](std::optional<Dims>& shape) {
    if (shape && shape->rank() >= 3 && (*shape)[shape->rank() - 3] > 1)
      (*shape)[shape->rank() - 3] = problem.query_heads;
  };
  with_heads(problem.keep);
  with_heads(problem.bias);
  return problem;
}

Problem longer(const ProbeOptions& options, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  Problem problem = first_probe(options);
  problem.batch = 1;
  problem.query_heads = problem.kv_heads = 2;
  problem.query_length = queries;
  problem.key_length = keys;
  problem.width = width;
  problem.value_width = width + 3;
  return problem;
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

std::vector<ProbeFactor> probe_factors() {
  return {
      {"causal",
       {left_out(), causal("causal=bottom_right", Corner::kBottomRight), causal("causal=top_left", Corner::kTopLeft),
        causal("causal=offset:1", Corner::kOffset, 1)}},
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
      {"layout", {left_out(), {"bthd", [](Problem& problem) { problem.layout = Layout::kBTHD; }}}},
      {"heads", {left_out(), heads("H6/3", 6, 3), heads("H4", 4, 4), heads("H5/1", 5, 1)}},
  };
}

Problem first_probe(const ProbeOptions& options) {
  Problem problem;
  problem.batch = kBatch;
  problem.query_heads = kQueryHeads;
  problem.kv_heads = kKvHeads;
  problem.query_length = kQueries;
  problem.key_length = kKeys;
  problem.width = kWidth;
  problem.value_width = kValueWidth;
  problem.dtype = options.dtype;
  problem.lse = options.lse;
  problem.backward = options.backward;
  problem.seed = options.seed;
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
  constexpr double kHuge = 3000;  // scores in the thousands: beyond −10000 + a score, and beyond exp in f32
  std::vector<Problem> probes;
  const auto add = [&](Problem problem) { probes.push_back(finished(std::move(problem), kFirstSeed + probes.size())); };
  Problem problem = first_probe(options);
  problem.scale = kHuge;
  problem.backward = false;  // the gradients of such scores are differences of equal numbers: noise
  problem.keep = Dims{kBatch, 1, kQueries, kKeys};
  add(problem);
  problem = first_probe(options);
  problem.scale = -40;
  problem.backward = false;
  add(problem);
  problem = first_probe(options);
  problem.query_length = 1;  // decode
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  add(problem);
  problem = first_probe(options);
  problem.key_length = 1;
  add(problem);
  problem = first_probe(options);
  std::swap(problem.query_length, problem.key_length);  // rows without a key under the bottom-right corner
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  add(problem);
  problem = longer(options, 5, 5, 6);
  problem.value_width = 6;
  problem.query_heads = problem.kv_heads = 3;
  problem.batch = 2;
  add(problem);
  add(longer(options, 37, 37, 40));
  problem = longer(options, 57, 121, 16);  // what is left over differs for tiles of 2, 4 ... 64
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  add(problem);
  problem = longer(options, 33, 65, 59);
  problem.window = {20, 20};
  problem.corner = Corner::kTopLeft;
  add(problem);
  problem = longer(options, 7, 11, 5);
  problem.cu_seqlens_q = {0, 2, 2, 7};
  problem.cu_seqlens_k = {0, 5, 6, 11};
  add(problem);
  if (options.backward) {
    problem = first_probe(options);
    problem.dlse = true;
    add(problem);
  }
  problem = first_probe(options);  // rows without a key, where a fill value may be no larger than a score
  std::swap(problem.query_length, problem.key_length);
  problem.scale = kHuge;
  problem.backward = false;
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  add(problem);
  return probes;
}

}  // namespace qkv::check
