// The variants: without a mistake they are the reference, and each mistake changes what it says and nothing else.
#include "src/check/variant.h"

#include <gtest/gtest.h>

#include "qkv/reference.h"
#include "src/check/compare.h"
#include "src/check/generate.h"
#include "src/check/random_problem.h"
#include "src/core/random.h"

namespace qkv::check {
namespace {

Case made(const Problem& problem) {
  Result<Case> made = generate(problem);
  EXPECT_TRUE(made.is_ok()) << made.status().message();
  return std::move(made).value();
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.is_present(), want.is_present()) << what;
  if (!want.is_present()) return;
  const Result<Comparison> found = compare(got.view(), want.view(), {.absolute = 1e-11, .relative = 1e-11});
  ASSERT_TRUE(found.is_ok()) << found.status().message();
  EXPECT_TRUE(found->passed) << what << ": " << to_string(*found);
}

TEST(Variant, is_the_reference_if_no_mistake_is_made) {
  for (std::uint64_t number = 0; number < 300; ++number) {
    const RandomStream stream(number, 1);
    std::vector<std::uint32_t> choices;
    for (std::uint64_t i = 0; i < kProblemChoices; ++i)
      choices.push_back(static_cast<std::uint32_t>(stream.uniform(i) * 4294967296.0));
    Problem problem = problem_from_choices(choices);
    problem.backward = true;
    SCOPED_TRACE(format(problem));
    const Case one = made(problem);
    const auto options = one.options();
    const Result<VariantResult> got = compute_variant(one.inputs(), options, one.d_o.view, one.d_lse.view, {});
    ASSERT_TRUE(got.is_ok()) << got.status().message();
    const auto forward = reference::attention_forward(one.inputs(), options);
    const auto backward = reference::attention_backward(one.inputs(), one.d_o.view, one.d_lse.view, options);
    ASSERT_TRUE(forward.is_ok() && backward.is_ok());
    expect_same(got->o, forward->o, "o");
    expect_same(got->lse, forward->lse, "lse");
    expect_same(got->dq, backward->dq, "dq");
    expect_same(got->dk, backward->dk, "dk");
    expect_same(got->dv, backward->dv, "dv");
    expect_same(got->dbias, backward->dbias, "dbias");
    expect_same(got->dsinks, backward->dsinks, "dsinks");
  }
}

}  // namespace
}  // namespace qkv::check
