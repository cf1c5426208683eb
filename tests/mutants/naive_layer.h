// A layer, a layernorm and a decode step as one writes them first, in f32, around the naive attention.
#ifndef QKV_TESTS_MUTANTS_NAIVE_LAYER_H_
#define QKV_TESTS_MUTANTS_NAIVE_LAYER_H_

#include <string>
#include <utility>

#include "src/check/subject.h"
#include "tests/mutants/edits.h"

namespace mutants {

// Forward; a layernorm alone has its gradient too.
class NaiveLayerSubject : public qkv::check::Subject {
 public:
  explicit NaiveLayerSubject(Edits edits = {}) : edits_(std::move(edits)) {}
  std::string name() const override { return "the naive layer"; }
  qkv::Result<qkv::check::SubjectAnswer> run(const qkv::check::Case& asked) override;

 private:
  Edits edits_;
};

class NaiveDecodeSubject : public qkv::check::Subject {
 public:
  explicit NaiveDecodeSubject(Edits edits = {}) : edits_(std::move(edits)) {}
  std::string name() const override { return "the naive decode step"; }
  qkv::Result<qkv::check::SubjectAnswer> run(const qkv::check::Case& asked) override;

 private:
  Edits edits_;
};

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_NAIVE_LAYER_H_
