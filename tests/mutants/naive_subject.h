// The naive implementation, edited or not, as the checker's subject.
#ifndef QKV_TESTS_MUTANTS_NAIVE_SUBJECT_H_
#define QKV_TESTS_MUTANTS_NAIVE_SUBJECT_H_

#include <string>

#include "src/check/subject.h"
#include "tests/mutants/edits.h"

namespace mutants {

class NaiveSubject : public qkv::check::Subject {
 public:
  explicit NaiveSubject(Edits edits = {}) : edits_(std::move(edits)) {}
  std::string name() const override { return "the naive implementation"; }
  qkv::Result<qkv::check::SubjectAnswer> run(const qkv::check::Case& asked) override;

 private:
  Edits edits_;
};

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_NAIVE_SUBJECT_H_
