// o and lse of a call, in the axes of the q that it was given.
#ifndef QKV_APPS_PYTHON_ATTENTION_RESULTS_H_
#define QKV_APPS_PYTHON_ATTENTION_RESULTS_H_

#include "apps/python/arrays.h"
#include "qkv/attention.h"
#include "qkv/problem.h"

namespace qkv::python {

class AttentionResults {
 public:
  // `q` as Python gave it and `shape` [B,Hq,Tq,Dv] say what o and lse look like; `wanted` is (out, return_lse),
  // out None or an array for o; new arrays belong to the library of `like`. Raises as Written does.
  AttentionResults(const View<const void>& q, Layout layout, const Dims& shape, nb::tuple wanted, nb::handle like);

  const AttentionOutputs& views() const { return views_; }
  nb::object take();  // o, or (o, lse)

 private:
  Written o_, lse_;
  AttentionOutputs views_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ATTENTION_RESULTS_H_
