// What the tests of attention_forward share: run a problem on every target and hold it to the reference.
#ifndef QKV_TESTS_ATTENTION_TESTING_H_
#define QKV_TESTS_ATTENTION_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "qkv/attention.h"
#include "qkv/problem.h"
#include "src/check/bounds.h"
#include "src/check/generate.h"
#include "src/core/for_each_element.h"

namespace qkv {

// A value that a test cannot go on without.
template <class T>
T must(Result<T> result, const std::string& what = "") {
  if (!result.is_ok()) {
    ADD_FAILURE() << what << ": " << result.status().message();
    std::abort();
  }
  return std::move(result).value();
}

inline Problem problem_of(const std::string& line) { return must(parse_problem(line), line); }

inline check::Case case_of(const std::string& line, const check::GenerateOptions& options = {}) {
  return must(check::generate(problem_of(line), options), line);
}

// The elements of a view, byte for byte, in row-major order: equal vectors are equal bits.
inline std::vector<unsigned char> bits_of(View<const void> view) {
  std::vector<unsigned char> bits;
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  for_each_element(view.shape, view.strides, [&](std::int64_t offset) {
    const auto* at = static_cast<const unsigned char*>(view.data) + offset * size;
    bits.insert(bits.end(), at, at + size);
  });
  return bits;
}

inline void set_element(View<void> view, std::int64_t offset, double value) {
  switch (view.dtype) {
    case DType::kF64: static_cast<double*>(view.data)[offset] = value; break;
    case DType::kF32: static_cast<float*>(view.data)[offset] = static_cast<float>(value); break;
    case DType::kBF16: static_cast<bf16*>(view.data)[offset] = to_bf16(value); break;
    case DType::kF16: static_cast<f16*>(view.data)[offset] = to_f16(value); break;
    default: static_cast<bool*>(view.data)[offset] = value != 0; break;
  }
}

// What a run gave.
struct Ran {
  check::CaseOutputs outputs;
  Report report;
  std::vector<unsigned char> o_bits() const { return bits_of(outputs.o.view); }
  std::vector<unsigned char> lse_bits() const { return bits_of(outputs.lse.view); }
};

// Runs a case, lse included, into outputs that lie in memory as `placement` says.
inline Ran run_case(const check::Case& c, const Execution& execution, const check::Placement& placement = {}) {
  Problem problem = c.problem;
  problem.lse = true;
  Ran ran{must(check::make_outputs(problem, placement)), {}};
  ran.report = must(attention_forward(c.inputs(), ran.outputs.views(), c.options(), execution), format(problem));
  return ran;
}

inline Execution on(Target target, int threads = 1) { return {threads, target, {}}; }

// Holds every target to the reference on these inputs, and looks for writes outside o and lse.
inline void expect_right(const check::Case& c, const check::Placement& placement = {}) {
  const check::ForwardExpectation expectation =
      must(check::expect_forward(c.inputs(), c.options(), check::output_type(c.problem)), format(c.problem));
  for (const Target target : available_targets()) {
    const Ran ran = run_case(c, on(target), placement);
    const check::ForwardVerdict verdict = must(check::judge(expectation, ran.outputs.o.view, ran.outputs.lse.view));
    EXPECT_TRUE(verdict.passed()) << format(c.problem) << " on " << to_string(target) << "\n" << to_string(verdict);
    EXPECT_TRUE(check::surroundings_are_intact(ran.outputs.o)) << format(c.problem) << " on " << to_string(target);
    EXPECT_TRUE(check::surroundings_are_intact(ran.outputs.lse)) << format(c.problem) << " on " << to_string(target);
    EXPECT_EQ(ran.report.target, target);
  }
}

inline void expect_right(const Problem& problem, const check::GenerateOptions& options = {}) {
  expect_right(must(check::generate(problem, options), format(problem)), options.placement);
}

inline void expect_right(const std::string& line, const check::GenerateOptions& options = {}) {
  expect_right(problem_of(line), options);
}

}  // namespace qkv

#endif  // QKV_TESTS_ATTENTION_TESTING_H_
