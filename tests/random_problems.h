// Random problems for property tests.
#ifndef QKV_TESTS_RANDOM_PROBLEMS_H_
#define QKV_TESTS_RANDOM_PROBLEMS_H_

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qkv/problem.h"
#include "src/check/random_problem.h"
#include "tests/attention_testing.h"

namespace qkv {

// Holds a property on as many cases as RC_PARAMS in the environment asks for (`make test` and `make test-long` set it).
inline void hold(const char* sentence, const std::function<void()>& property) {
  EXPECT_TRUE(rc::check(sentence, property));
}

// A problem drawn by RapidCheck, after `shape` had its say. Fails the property if it is none that can be parsed.
inline Problem draw_problem(const std::function<void(Problem&)>& shape) {
  const auto choices =
      *rc::gen::container<std::vector<std::uint32_t>>(check::kProblemChoices, rc::gen::arbitrary<std::uint32_t>());
  Problem problem = check::problem_from_choices(choices);
  shape(problem);
  const std::string line = format(problem);
  RC_TAG(std::string(to_string(problem.dtype)));
  const Result<Problem> valid = parse_problem(line);
  if (!valid.is_ok()) RC_FAIL(line + ": " + valid.status().message());
  return problem;
}

}  // namespace qkv

#endif  // QKV_TESTS_RANDOM_PROBLEMS_H_
