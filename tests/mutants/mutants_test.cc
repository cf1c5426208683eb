// The checker against mistakes that it has not seen: each is an edit of an implementation that shares no code with it.
#include "tests/mutants/mutants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "src/check/check.h"
#include "src/check/mistake.h"
#include "tests/mutants/naive_subject.h"
#include "tests/mutants/seeds.h"

namespace mutants {
namespace {

using qkv::check::CheckOptions;
using qkv::check::CheckReport;
using qkv::check::Explanation;
using qkv::check::Verdict;

CheckReport checked(NaiveSubject& subject, std::uint64_t seed, bool backward, qkv::DType dtype = qkv::DType::kF32) {
  CheckOptions options;
  options.probes.seed = seed;
  options.probes.backward = backward;
  options.probes.dtype = dtype;
  qkv::Result<CheckReport> report = check(subject, options);
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  return std::move(report).value();
}

bool is_about_gradients(const Mutant& mutant) { return mutant.name.starts_with("gradient_"); }

// The place of the true mistake among what the report names, from 1 on; 0 if it is not among them.
int place_of(const std::string& name, const CheckReport& report) {
  const std::vector<Explanation>& tied = report.diagnosis.tied;
  const auto found = std::ranges::find_if(
      tied, [&](const Explanation& one) { return one.mistakes.size() == 1 && one.mistakes.front().name == name; });
  return found == tied.end() ? 0 : static_cast<int>(found - tied.begin()) + 1;
}

TEST(Mutants, there_is_one_for_every_mistake_that_has_a_name) {
  // Those of inputs that no probe has: memory far apart (index_test.cc), NaN, the largest number (cases_check_test.cc).
  std::set<std::string> edited{"index_wraps", "hidden_times_zero", "bias_overflows"};
  for (const std::vector<Mutant>& mutants : {all_mutants(), cache_mutants(), norm_mutants(), projection_mutants()})
    for (const Mutant& mutant : mutants) edited.insert(mutant.name);
  for (const qkv::check::NamedMistake& named : qkv::check::all_mistakes())
    EXPECT_TRUE(edited.contains(std::string(named.name))) << named.name;
}

// Every mutant is asked in f32 and bf16, with gradients and without: those of gradients only with, the others with them
// in a long run only.
struct Asked {
  const char* name;
  qkv::DType dtype;
  bool backward;
};

void PrintTo(const Asked& asked, std::ostream* out) { *out << asked.name; }

class MutantsOfAType : public ::testing::TestWithParam<Asked> {};

TEST_P(MutantsOfAType, are_each_caught_and_named) {
  const Asked& how = GetParam();
  int asked = 0;
  int named_first = 0;
  std::string misnamed;
  for (const std::uint64_t seed : unseen_seeds(1))
    for (const Mutant& mutant : all_mutants()) {
      if (is_about_gradients(mutant) != how.backward && !(how.backward && is_long_run())) continue;
      NaiveSubject subject(Edits({{mutant.edit, mutant.number}}));
      const CheckReport report = checked(subject, seed, how.backward, how.dtype);
      EXPECT_EQ(report.verdict, Verdict::kWrong) << mutant.name << ", seed " << seed << ": " << report.headline;
      const int place = place_of(mutant.name, report);
      ++asked;
      if (place == 1) ++named_first;
      if (place != 1)
        misnamed += mutant.name + ", seed " + std::to_string(seed) + ", place " + std::to_string(place) + ": " +
                    report.headline + "\n";
    }
  std::cout << named_first << " of " << asked << " named first\n" << misnamed;
  EXPECT_GE(named_first * 100, asked * 95) << misnamed;
}

INSTANTIATE_TEST_SUITE_P(All, MutantsOfAType,
                         ::testing::Values(Asked{"f32", qkv::DType::kF32, false},
                                           Asked{"f32_with_gradients", qkv::DType::kF32, true},
                                           Asked{"bf16", qkv::DType::kBF16, false},
                                           Asked{"bf16_with_gradients", qkv::DType::kBF16, true}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// The names of the mistakes of the first explanation, in order.
std::string first_names(const CheckReport& report) {
  if (report.diagnosis.tied.empty()) return report.headline;
  std::string names;
  for (const qkv::check::NamedMistake& named : report.diagnosis.tied.front().mistakes)
    names += (names.empty() ? "" : " and ") + std::string(named.name);
  return names;
}

TEST(Mutants, two_mistakes_at_once_are_named_both) {
  for (const auto& [edits, names] : std::vector<std::pair<Edits, std::string>>{
           {Edits({{Edit::kTopLeftAlways, 0}, {Edit::kSoftcapIgnored, 0}}), "corner_top_left and softcap_ignored"},
           {Edits({{Edit::kHeadModulo, 0}, {Edit::kMaskInverted, 0}}), "head_map_tiled and mask_inverted"},
           {Edits({{Edit::kScaleTwice, 0}, {Edit::kLseBaseTwo, 0}}), "scale_twice and lse_base_2"}}) {
    NaiveSubject subject(edits);
    const CheckReport report = checked(subject, unseen_seeds(1).front(), false);
    EXPECT_EQ(report.verdict, Verdict::kWrong) << report.headline;
    EXPECT_EQ(first_names(report), names) << report.headline;
  }
}

// Its gradients are its own: that of k reshaped goes to k as it lay, not to what was asked for.
TEST(Mutants, a_mistake_of_the_forward_pass_is_named_beside_gradients_too) {
  NaiveSubject subject(Edits({{Edit::kKeysReshaped, 0}}));
  const CheckReport report = checked(subject, unseen_seeds(1).front(), true);
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.headline;
  EXPECT_EQ(first_names(report), "keys_reshaped") << report.headline;
}

// Where the report names several, it says what would tell the first two apart.
TEST(Mutants, a_tie_comes_with_a_problem_that_breaks_it) {
  NaiveSubject subject(Edits({{Edit::kPaddedScale, 16}}));  // 12 becomes 16, as with a multiple of 8
  CheckOptions options;
  const qkv::Result<CheckReport> report =
      check_problem(subject, qkv::parse_problem("attention H2 T3 D12").value(), options);
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  const qkv::check::Diagnosis& diagnosis = report->diagnosis;
  ASSERT_GE(diagnosis.tied.size(), 2U) << report->headline;
  ASSERT_TRUE(diagnosis.told_apart_by.has_value()) << report->headline;
  const qkv::Result<CheckReport> again = check_problem(subject, *diagnosis.told_apart_by, options);
  ASSERT_TRUE(again.is_ok()) << again.status().message();
  EXPECT_LT(again->diagnosis.tied.size(), diagnosis.tied.size()) << again->headline;
}

}  // namespace
}  // namespace mutants
