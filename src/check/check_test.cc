// The whole run: right implementations are right, and every mistake that the variants know is found in its own output.
#include "src/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "qkv/attention.h"

namespace qkv::check {
namespace {

Tensor rounded(View<const void> exact, DType dtype) { return std::move(converted(exact, dtype)).value(); }
Tensor rounded(const Tensor& exact, DType dtype) { return rounded(exact.view(), dtype); }

// qkv itself.
class Ours : public Subject {
 public:
  std::string name() const override { return "qkv::attention_forward"; }
  Result<SubjectAnswer> run(const Case& asked) override {
    SubjectAnswer answer;
    Result<CaseOutputs> outputs = make_outputs(asked.problem);
    const Result<Report> done = attention_forward(asked.inputs(), outputs->views(), asked.options());
    if (!done.is_ok()) return done.status();
    answer.outputs.o = rounded(View<const void>(outputs->o.view), output_type(asked.problem));
    if (asked.problem.lse) answer.outputs.lse = rounded(View<const void>(outputs->lse.view), lse_type(asked.problem));
    return answer;
  }
};

// A variant, rounded to the type of the problem.
class Mistaken : public Subject {
 public:
  explicit Mistaken(std::vector<Mistake> mistakes) : mistakes_(std::move(mistakes)) {}
  std::string name() const override { return "a mistake"; }
  Result<SubjectAnswer> run(const Case& asked) override {
    Result<VariantResult> made =
        compute_variant(asked.inputs(), asked.options(), asked.d_o.view, asked.d_lse.view, mistakes_);
    if (!made.is_ok()) return made.status();
    SubjectAnswer answer;
    const DType type = output_type(asked.problem);
    answer.outputs.o = rounded(made->o, type);
    answer.outputs.lse = rounded(made->lse, lse_type(asked.problem));
    if (!made->dq.is_present()) return answer;
    answer.outputs.dq = rounded(made->dq, type);
    answer.outputs.dk = rounded(made->dk, type);
    answer.outputs.dv = rounded(made->dv, type);
    if (made->dbias.is_present()) answer.outputs.dbias = rounded(made->dbias, type);
    if (made->dsinks.is_present()) answer.outputs.dsinks = rounded(made->dsinks, lse_type(asked.problem));
    return answer;
  }

 private:
  std::vector<Mistake> mistakes_;
};

CheckReport checked(Subject& subject, const CheckOptions& options) {
  Result<CheckReport> report = check(subject, options);
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  return std::move(report).value();
}

TEST(Check, our_forward_is_right) {
  Ours ours;
  const CheckReport report = checked(ours, {});
  EXPECT_EQ(report.verdict, Verdict::kRight) << report.headline;
  for (const Invariant& one : report.invariants) EXPECT_TRUE(one.holds()) << one.words << ": " << one.deviation;
}

TEST(Check, a_forward_pass_alone_is_no_verdict_on_gradients) {
  Ours ours;  // leaves the gradients away
  CheckOptions options;
  options.probes.backward = true;
  const CheckReport report = checked(ours, options);
  EXPECT_EQ(report.verdict, Verdict::kCannotJudge);
  EXPECT_TRUE(report.headline.starts_with("CANNOT JUDGE: no answer has a gradient")) << report.headline;
}

// No element of dq or dk is out of its bound: what is missing is as small as rounding in bf16 may be.
TEST(Check, a_mistake_within_the_bounds_is_told_by_all_errors_together) {
  Mistaken subject({{MistakeId::kGradientLseIgnored}});
  CheckOptions options;
  options.probes.dtype = DType::kBF16;
  options.probes.backward = true;
  options.probes.seed = 7'000'003;  // of others an element may be out
  const CheckReport report = checked(subject, options);
  EXPECT_EQ(report.failed, 0);
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.headline;
  ASSERT_EQ(report.diagnosis.tied.size(), 1U) << report.headline;
  EXPECT_EQ(report.diagnosis.tied.front().mistakes.front().name, "gradient_lse_ignored");
  EXPECT_LT(report.diagnosis.tied.front().share_left.value_or(1), 0.1);
}

TEST(Check, rounding_alone_is_no_mistake) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    Mistaken subject({});
    CheckOptions options;
    options.probes.dtype = dtype;
    options.probes.backward = true;
    const CheckReport report = checked(subject, options);
    EXPECT_EQ(report.verdict, Verdict::kRight) << report.headline;
  }
}

// The invariant knows no reference: a mistake of the forward pass has a gradient of its own, which is right.
TEST(Check, a_gradient_of_another_forward_pass_has_a_remainder_of_order_one) {
  for (const auto& [id, order] : {std::pair(MistakeId::kGradientWithoutRowTerm, 1.0), {MistakeId::kScaleTwice, 2.0}}) {
    Mistaken subject({{id}});
    CheckOptions options;
    options.probes.backward = true;
    const CheckReport report = checked(subject, options);
    const auto found = std::ranges::find(report.invariants, "taylor_remainder", &Invariant::name);
    ASSERT_NE(found, report.invariants.end());
    EXPECT_TRUE(found->was_asked);
    EXPECT_NEAR(2 - found->deviation, order, 0.2);
    EXPECT_EQ(found->holds(), order == 2);
  }
}

// A LayerNorm that is right, and ends in another bit each time.
class Restless : public Subject {
 public:
  std::string name() const override { return "restless"; }
  Result<SubjectAnswer> run(const Case& asked) override {
    Result<VariantResult> made = compute_variant(asked, {});
    if (!made.is_ok()) return made.status();
    SubjectAnswer answer;
    answer.outputs.layer.y = rounded(made->layer.y, DType::kF32);
    auto* y = answer.outputs.layer.y.data<float>();
    if (++calls_ % 2 == 0) y[0] = std::nextafter(y[0], 100.0F);
    return answer;
  }

 private:
  int calls_ = 0;
};

TEST(Check, other_bits_are_seen_in_whatever_an_operation_gives) {
  Restless subject;
  CheckOptions options;
  options.probes.operation = Operation::kLayerNorm;
  const CheckReport report = checked(subject, options);
  EXPECT_EQ(report.verdict, Verdict::kRight) << report.headline;
  EXPECT_FALSE(report.same_bits);
}

// In parts, which may run side by side.
class CheckOfMistakes : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kParts = 8;
};

TEST_P(CheckOfMistakes, finds_each_in_its_own_output) {
  const std::span<const NamedMistake> all = all_mistakes();
  for (std::size_t at = GetParam(); at < all.size(); at += kParts) {
    const NamedMistake& named = all[at];
    if (!is_possible(named.mistake, Operation::kAttention)) continue;  // tests/mutants/operations_test.cc
    if (named.mistake.id == MistakeId::kIndexWraps) continue;  // takes memory far apart: tests/mutants/index_test.cc
    // Of inputs that no probe has, but files have, and invariants: tests/cases_check_test.cc.
    if (named.mistake.id == MistakeId::kHiddenTimesZero || named.mistake.id == MistakeId::kBiasOverflows) continue;
    SCOPED_TRACE(named.name);
    Mistaken subject({named.mistake});
    CheckOptions options;
    options.probes.backward = named.name.starts_with("gradient");
    const CheckReport report = checked(subject, options);
    EXPECT_EQ(report.verdict, Verdict::kWrong) << report.headline;
    bool is_named = false;
    for (const Explanation& one : report.diagnosis.tied)
      is_named = is_named || (one.mistakes.size() == 1 && one.mistakes.front().name == named.name);
    EXPECT_TRUE(is_named) << report.headline;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, CheckOfMistakes, ::testing::Range<std::size_t>(0, 8));

}  // namespace
}  // namespace qkv::check
