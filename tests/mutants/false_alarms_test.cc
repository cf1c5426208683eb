// What is right must pass, whatever its form, type, target or policy: no false alarm under any seed.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "src/check/check.h"
#include "tests/mutants/naive_subject.h"
#include "tests/mutants/our_subject.h"
#include "tests/mutants/seeds.h"

namespace mutants {
namespace {

using qkv::DType;
using qkv::check::CheckOptions;
using qkv::check::CheckReport;
using qkv::check::Subject;
using qkv::check::Verdict;

// Expects RIGHT of `subject` under each of `count` seeds, every other one with gradients.
void expect_no_alarm(Subject& subject, CheckOptions options, int count) {
  for (const std::uint64_t seed : unseen_seeds(count)) {
    options.probes.seed = seed;
    options.probes.backward = !options.probes.backward;
    const qkv::Result<CheckReport> report = check(subject, options);
    ASSERT_TRUE(report.is_ok()) << report.status().message();
    EXPECT_EQ(report->verdict, Verdict::kRight)
        << "seed " << seed << (options.probes.backward ? ", with gradients: " : ": ") << report->headline;
    EXPECT_TRUE(report->same_bits) << "seed " << seed;
  }
}

CheckOptions of_type(DType dtype) {
  CheckOptions options;
  options.probes.dtype = dtype;
  return options;
}

TEST(FalseAlarms, none_for_our_own_on_each_target) {
  for (const qkv::Target target : qkv::available_targets()) {
    SCOPED_TRACE(to_string(target));
    OurSubject subject(target);
    expect_no_alarm(subject, {}, 4);
  }
}

TEST(FalseAlarms, none_for_our_own_in_each_type) {
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    OurSubject subject(qkv::Target::kAuto);
    expect_no_alarm(subject, of_type(dtype), 4);
  }
}

TEST(FalseAlarms, none_for_the_naive_implementation_in_each_type) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    NaiveSubject subject;
    expect_no_alarm(subject, of_type(dtype), 4);
  }
}

struct Form {
  const char* name;
  Edit edit;
  double number = 0;
};

class FalseAlarmsOfForms : public ::testing::TestWithParam<Form> {};

TEST_P(FalseAlarmsOfForms, none_for_what_is_right_too) {
  NaiveSubject subject(Edits({{GetParam().edit, GetParam().number}}));
  expect_no_alarm(subject, {}, 2);
}

// A policy counts as right where the caller accepts it by its name.
class FalseAlarmsOfPolicies : public ::testing::TestWithParam<Form> {};

TEST_P(FalseAlarmsOfPolicies, none_for_what_is_accepted) {
  NaiveSubject subject(Edits({{GetParam().edit, GetParam().number}}));
  CheckOptions options;
  options.accepted = {*qkv::check::find_mistake(GetParam().name)};
  expect_no_alarm(subject, options, 2);
}

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

std::string name_of(const ::testing::TestParamInfo<Form>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, FalseAlarmsOfForms,
                         ::testing::Values(Form{"constant_added_to_each_row", Edit::kShiftedRows},
                                           Form{"root_of_the_scale_on_q_and_k", Edit::kScaleOnBoth},
                                           Form{"sums_from_right_to_left", Edit::kSumsReversed},
                                           Form{"sums_of_halves", Edit::kSumsPairwise},
                                           Form{"online_one_key_a_block", Edit::kOnlineBlocks, 1},
                                           Form{"online_four_keys_a_block", Edit::kOnlineBlocks, 4},
                                           Form{"row_sum_of_do_and_o", Edit::kDeltaFromOutput},
                                           Form{"sigmoid_for_the_sink", Edit::kSigmoidSink},
                                           Form{"slopes_from_key_zero", Edit::kSlopesFromKeyZero}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    All, FalseAlarmsOfPolicies,
    ::testing::Values(Form{"corner_top_left", Edit::kTopLeftAlways},
                      Form{"corner_bottom_right", Edit::kBottomRightAlways}, Form{"lse_base_2", Edit::kLseBaseTwo},
                      Form{"lse_without_sink", Edit::kLseWithoutSink}, Form{"empty_row_nan", Edit::kEmptyNan},
                      Form{"empty_row_mean", Edit::kEmptyMean}, Form{"empty_lse_zero", Edit::kEmptyLseZero},
                      Form{"empty_lse_infinite", Edit::kEmptyLseInfinite}),
    name_of);

}  // namespace
}  // namespace mutants
