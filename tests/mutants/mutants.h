// Every named mistake as an edit of the naive implementation.
#ifndef QKV_TESTS_MUTANTS_MUTANTS_H_
#define QKV_TESTS_MUTANTS_MUTANTS_H_

#include <string>
#include <vector>

#include "tests/mutants/edits.h"

namespace mutants {

struct Mutant {
  std::string name;  // that the checker should give
  Edit edit;
  double number = 0;
};

// Of attention.
std::vector<Mutant> all_mutants();

// Of what is around attention.
std::vector<Mutant> cache_mutants();
std::vector<Mutant> norm_mutants();
std::vector<Mutant> projection_mutants();

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_MUTANTS_H_
