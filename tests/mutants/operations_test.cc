// The checker on layers, layernorms and decode steps: what is right passes, and every mistake is caught and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/check/check.h"
#include "tests/mutants/mutants.h"
#include "tests/mutants/naive_layer.h"
#include "tests/mutants/our_subject.h"
#include "tests/mutants/seeds.h"

namespace mutants {
namespace {

using qkv::DType;
using qkv::Operation;
using qkv::check::CheckOptions;
using qkv::check::CheckReport;
using qkv::check::Subject;
using qkv::check::Verdict;

CheckOptions asked(Operation operation, DType dtype, std::uint64_t seed, bool backward) {
  CheckOptions options;
  options.probes.operation = operation;
  options.probes.dtype = dtype;
  options.probes.seed = seed;
  options.probes.backward = backward;
  return options;
}

CheckReport checked(Subject& subject, const CheckOptions& options) {
  qkv::Result<CheckReport> report = check(subject, options);
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  return std::move(report).value();
}

std::unique_ptr<Subject> naive(Operation operation, Edits edits = {}) {
  if (operation == Operation::kDecode) return std::make_unique<NaiveDecodeSubject>(std::move(edits));
  return std::make_unique<NaiveLayerSubject>(std::move(edits));
}

class Operations : public ::testing::TestWithParam<Operation> {};

TEST_P(Operations, raise_no_alarm_where_they_are_right) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
    for (const std::uint64_t seed : unseen_seeds(1))
      for (const bool backward : {false, true}) {
        if (backward && GetParam() == Operation::kDecode) continue;
        OurSubject ours(qkv::Target::kAuto);
        const CheckReport report = checked(ours, asked(GetParam(), dtype, seed, backward));
        EXPECT_EQ(report.verdict, Verdict::kRight)
            << to_string(dtype) << (backward ? " backward" : "") << ", seed " << seed << ": " << report.headline;
        for (const qkv::check::Invariant& one : report.invariants) {
          EXPECT_TRUE(one.was_asked || !backward || size_of(dtype) < 4) << one.name;
          EXPECT_TRUE(one.holds()) << one.words << ": " << one.deviation;
        }
      }
}

TEST_P(Operations, raise_no_alarm_in_a_naive_form) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const std::uint64_t seed : unseen_seeds(1)) {
      const std::unique_ptr<Subject> subject = naive(GetParam());
      const CheckReport report = checked(*subject, asked(GetParam(), dtype, seed, false));
      EXPECT_EQ(report.verdict, Verdict::kRight) << to_string(dtype) << ", seed " << seed << ": " << report.headline;
    }
}

std::vector<Mutant> mutants_of(Operation operation) {
  std::vector<Mutant> all;
  const auto add = [&](const std::vector<Mutant>& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (operation == Operation::kDecode) add(cache_mutants());
  if (operation == Operation::kLayer) add(projection_mutants());
  if (operation != Operation::kDecode) add(norm_mutants());
  if (operation == Operation::kLayerNorm) return all;
  const std::vector<Mutant> of_attention = all_mutants();
  for (const char* name : {"scale_missing", "scale_twice", "head_map_tiled", "mask_inverted", "key_mask_ignored",
                           "softcap_ignored", "sink_ignored", "bias_ignored", "causal_strict", "window_ignored",
                           "window_left_plus_1", "heads_split_wrong", "heads_merged_wrong", "lengths_ignored"})
    std::ranges::copy_if(of_attention, std::back_inserter(all), [&](const Mutant& one) { return one.name == name; });
  return all;
}

TEST_P(Operations, have_their_mistakes_caught_and_named) {
  int count = 0;
  int named_first = 0;
  std::string misnamed;
  for (const std::uint64_t seed : unseen_seeds(1))
    for (const Mutant& mutant : mutants_of(GetParam())) {
      const bool backward = mutant.name.starts_with("norm_gradient");
      if (backward && GetParam() != Operation::kLayerNorm) continue;  // the naive layer has no gradient
      const std::unique_ptr<Subject> subject = naive(GetParam(), Edits({{mutant.edit, mutant.number}}));
      const CheckReport report = checked(*subject, asked(GetParam(), DType::kF32, seed, backward));
      EXPECT_EQ(report.verdict, Verdict::kWrong) << mutant.name << ": " << report.headline;
      const auto& tied = report.diagnosis.tied;
      const bool is_first =
          !tied.empty() && tied.front().mistakes.size() == 1 && tied.front().mistakes.front().name == mutant.name;
      ++count;
      if (is_first) ++named_first;
      if (!is_first) misnamed += mutant.name + ", seed " + std::to_string(seed) + ": " + report.headline + "\n";
    }
  std::cout << named_first << " of " << count << " named first\n" << misnamed;
  EXPECT_GE(named_first * 100, count * 95) << misnamed;
}

INSTANTIATE_TEST_SUITE_P(All, Operations,
                         ::testing::Values(Operation::kDecode, Operation::kLayer, Operation::kLayerNorm),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace mutants
