// Valid problems of every kind, made from a row of numbers, for property tests and fuzzing.
#ifndef QKV_SRC_CHECK_RANDOM_PROBLEM_H_
#define QKV_SRC_CHECK_RANDOM_PROBLEM_H_

#include <cstdint>
#include <span>

#include "qkv/problem.h"

namespace qkv::check {

// Turns a row of choices into a problem that parse_problem() accepts. A choice of 0, or none left, picks the simplest
// value, so that whoever shrinks the numbers (RapidCheck, a fuzzer) shrinks the problem. Cost: B <= 3, Hq <= 8, T <=
// 40, D <= 24; a few in a hundred have a zero among B, H, T.
Problem problem_from_choices(std::span<const std::uint32_t> row);

inline constexpr std::size_t kProblemChoices = 48;  // enough for every word; further ones are not read

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_RANDOM_PROBLEM_H_
