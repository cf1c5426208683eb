// What the tests of attention_backward share: forward and backward of a problem on every target, held to the reference.
#ifndef QKV_TESTS_ATTENTION_BACKWARD_TESTING_H_
#define QKV_TESTS_ATTENTION_BACKWARD_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/check/bounds.h"
#include "src/check/generate.h"
#include "tests/attention_testing.h"

namespace qkv {

// What a run gave.
struct RanBackward {
  Ran forward;
  check::CaseGradients gradients;
  Report report;

  // All gradients, byte for byte, in the order dq dk dv dbias dsinks.
  std::vector<unsigned char> bits() const {
    std::vector<unsigned char> all;
    for (const check::Placed* one :
         {&gradients.dq, &gradients.dk, &gradients.dv, &gradients.dbias, &gradients.dsinks}) {
      if (!one->view.is_present()) continue;
      const std::vector<unsigned char> bits = bits_of(one->view);
      all.insert(all.end(), bits.begin(), bits.end());
    }
    return all;
  }
};

inline AttentionBackwardInputs backward_inputs(const check::Case& c, const Ran& forward) {
  return {c.q.view, c.k.view, c.v.view, forward.outputs.o.view, forward.outputs.lse.view, c.d_o.view, c.d_lse.view};
}

// Runs the forward pass and then the backward pass, into memory that is laid out as `placement` says.
// Constraint: the problem says `backward`.
inline RanBackward run_backward(const check::Case& c, const Execution& execution,
                                const check::Placement& placement = {}) {
  RanBackward ran{run_case(c, execution, placement), must(check::make_gradients(c.problem, placement)), {}};
  ran.report = must(attention_backward(backward_inputs(c, ran.forward), ran.gradients.views(), c.options(), execution),
                    format(c.problem));
  return ran;
}

inline bool surroundings_are_intact(const check::CaseGradients& gradients) {
  for (const check::Placed* one : {&gradients.dq, &gradients.dk, &gradients.dv, &gradients.dbias, &gradients.dsinks})
    if (one->view.is_present() && !check::surroundings_are_intact(*one)) return false;
  return true;
}

// Holds every target to the reference on these inputs, and looks for writes outside the gradients.
inline void expect_right_gradients(const check::Case& c, const check::Placement& placement = {}) {
  const check::BackwardExpectation expectation =
      must(check::expect_backward(c.inputs(), c.d_o.view, c.d_lse.view, c.options(), check::output_type(c.problem)),
           format(c.problem));
  for (const Target target : available_targets()) {
    const RanBackward ran = run_backward(c, on(target), placement);
    const check::BackwardVerdict verdict = must(check::judge(expectation, ran.gradients.views()));
    EXPECT_TRUE(verdict.passed()) << format(c.problem) << " on " << to_string(target) << "\n" << to_string(verdict);
    EXPECT_TRUE(surroundings_are_intact(ran.gradients)) << format(c.problem) << " on " << to_string(target);
    EXPECT_EQ(ran.report.target, target);
  }
}

inline void expect_right_gradients(const std::string& line, const check::GenerateOptions& options = {}) {
  const std::string whole = line + " backward";
  expect_right_gradients(case_of(whole, options), options.placement);
}

}  // namespace qkv

#endif  // QKV_TESTS_ATTENTION_BACKWARD_TESTING_H_
