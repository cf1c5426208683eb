// qkv itself as the checker's subject, on one target.
#ifndef QKV_TESTS_MUTANTS_OUR_SUBJECT_H_
#define QKV_TESTS_MUTANTS_OUR_SUBJECT_H_

#include <string>

#include "qkv/target.h"
#include "src/check/subject.h"

namespace mutants {

class OurSubject : public qkv::check::Subject {
 public:
  explicit OurSubject(qkv::Target target) : target_(target) {}
  std::string name() const override { return "qkv on " + std::string(to_string(target_)); }
  qkv::Result<qkv::check::SubjectAnswer> run(const qkv::check::Case& asked) override;

 private:
  qkv::Target target_;
};

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_OUR_SUBJECT_H_
