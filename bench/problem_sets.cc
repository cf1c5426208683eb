// The shapes, each written once.
#include "bench/problem_sets.h"

#include <algorithm>

#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

// One head group of a small encoder; GPT-2 small at its context length and at four times it; a batch of short
// sequences; grouped heads of a large model. Each plain and causal.
const char* const kPrefill[] = {"attention H12 T1024 D64", "attention H12 T4096 D64", "attention B8 H12 T512 D64",
                                "attention H32/8 T2048 D128"};
const char* const kWindow[] = {"attention H8 T16384 D64 causal window=511,0", "attention H8 T16384 D64 causal"};
const char* const kDecode[] = {"attention H32/8 T1x8192 D128", "attention B16 H32/8 T1x4096 D128"};
const char* const kSmall[] = {"attention H12 T64 D64", "attention T5 D2"};
const char* const kOdd[] = {"attention B2 H6/2 T333x777 D59/83"};
// Between the lengths above: 12 heads of 64.
const char* const kLengths[] = {
    "attention H12 T128 D64",        "attention H12 T256 D64",        "attention H12 T512 D64",
    "attention H12 T2048 D64",       "attention H12 T64 D64 causal",  "attention H12 T128 D64 causal",
    "attention H12 T256 D64 causal", "attention H12 T512 D64 causal", "attention H12 T2048 D64 causal"};
const char* const kGrowth[] = {"attention T4096 D64", "attention T8192 D64", "attention T16384 D64",
                               "attention T32768 D64"};

// The lines above are right, which the tests see to.
Problem parsed(const std::string& line) { return parse_problem(line).value(); }

void add(std::vector<Request>& requests, Pass pass, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) requests.push_back({pass, parsed(line)});
}

template <std::size_t n>
std::vector<std::string> lines_of(const char* const (&lines)[n], const char* more = "") {
  std::vector<std::string> found;
  for (const char* line : lines) found.push_back(std::string(line) + more);
  return found;
}

std::vector<Request> all_with(Pass pass, const std::vector<std::string>& lines) {
  std::vector<Request> requests;
  add(requests, pass, lines);
  return requests;
}

// Plain and causal.
std::vector<Request> with_gradients(const std::vector<std::string>& lines) {
  std::vector<Request> requests;
  for (const char* more : {"", " causal"})
    for (const std::string& line : lines) add(requests, Pass::kForwardBackward, {line + more});
  return requests;
}

std::vector<Request> forward(const std::vector<std::string>& lines) { return all_with(Pass::kForward, lines); }

std::vector<Request> layers(const std::string& line) {
  std::vector<Request> requests;
  for (Pass pass : {Pass::kLayer, Pass::kLayerForwardBackward}) add(requests, pass, {line});
  return requests;
}

ProblemSet all_of(const std::vector<ProblemSet>& sets) {
  ProblemSet all{"all", "everything above but growth and quick", {}};
  for (const ProblemSet& set : sets)
    if (set.name != "growth" && set.name != "quick")
      all.requests.insert(all.requests.end(), set.requests.begin(), set.requests.end());
  return all;
}

}  // namespace

std::vector<ProblemSet> problem_sets() {
  std::vector<ProblemSet> sets = {
      {"prefill", "plain prefill", forward(lines_of(kPrefill))},
      {"causal", "causal prefill", forward(lines_of(kPrefill, " causal"))},
      {"window", "a long window against all of the past", forward(lines_of(kWindow))},
      {"decode", "one query a sequence against a long cache", all_with(Pass::kDecode, lines_of(kDecode))},
      {"backward", "forward and backward, plain and causal", with_gradients(lines_of(kPrefill))},
      {"small", "small calls", forward(lines_of(kSmall))},
      {"odd", "lengths and widths that are a multiple of nothing", forward(lines_of(kOdd))},
      {"layer", "GPT-2 small: width 768, 12 heads of 64", layers("attention H12 T1024 D64 causal")},
      {"project", "the projections of GPT-2 small: [1024,768] times [768,2304]",
       all_with(Pass::kProject, {"attention H12 T1024 D64"})},
      {"lengths", "the lengths between the others, plain and causal", forward(lines_of(kLengths))},
      {"growth", "time by length", forward(lines_of(kGrowth))},
      {"quick", "a minute's look", forward({kPrefill[0], std::string(kPrefill[0]) + " causal", kSmall[0], kSmall[1]})},
  };
  sets.push_back(all_of(sets));
  return sets;
}

Result<std::vector<Request>> requests_of_set(std::string_view name, const std::vector<DType>& dtypes) {
  const std::vector<ProblemSet> sets = problem_sets();
  const auto set = std::find_if(sets.begin(), sets.end(), [&](const ProblemSet& known) { return known.name == name; });
  if (set == sets.end()) {
    std::string names;
    for (const ProblemSet& known : sets) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return invalid_argument("there is no set '" + std::string(name) + "'; expected one of: " + names);
  }
  std::vector<Request> requests;
  for (DType dtype : dtypes)
    for (Request request : set->requests) {
      request.problem.dtype = dtype;
      requests.push_back(std::move(request));
    }
  return requests;
}

Pass pass_of(const Problem& problem) {
  return problem.backward || problem.dlse ? Pass::kForwardBackward : Pass::kForward;
}

}  // namespace qkv::bench
