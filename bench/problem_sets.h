// The problems that are measured, by name: the shapes on which qkv is compared with its peers.
#ifndef QKV_BENCH_PROBLEM_SETS_H_
#define QKV_BENCH_PROBLEM_SETS_H_

#include <string>
#include <string_view>
#include <vector>

#include "bench/pass.h"

namespace qkv::bench {

struct ProblemSet {
  std::string_view name;
  std::string_view about;
  std::vector<Request> requests;  // in f32
};

// Every set, in the order in which --list shows them.
std::vector<ProblemSet> problem_sets();

// The requests of a set in each of the element types. Errors: kInvalidArgument with the known names.
Result<std::vector<Request>> requests_of_set(std::string_view name, const std::vector<DType>& dtypes);

// What a problem line asks for where no pass is named: the gradients with its word `backward`, else the output.
Pass pass_of(const Problem& problem);

}  // namespace qkv::bench

#endif  // QKV_BENCH_PROBLEM_SETS_H_
