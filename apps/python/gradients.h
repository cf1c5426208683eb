// Which gradients a call is asked for, the arrays that they go to, and what it returns.
#ifndef QKV_APPS_PYTHON_GRADIENTS_H_
#define QKV_APPS_PYTHON_GRADIENTS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "apps/python/arrays.h"

namespace qkv::python {

class GradientRequest {
 public:
  // `gradients`: names among `known`, which outlives this, each once; `out`: None or a mapping from some of them to
  // arrays. Raises TypeError for another kind, ValueError for another name.
  GradientRequest(nb::handle gradients, nb::handle out, std::span<const std::string_view> known);

  const std::vector<std::size_t>& wanted() const { return wanted_; }       // places in `known`, in the order asked for
  nb::object out(std::size_t which) const;                                 // the caller's array, or None
  void add(Written gradient) { written_.push_back(std::move(gradient)); }  // once for each of wanted(), in order

  nb::tuple take_tuple();
  nb::dict take_dict();

 private:
  std::size_t place_of(std::string_view name, const char* argument) const;

  std::span<const std::string_view> known_;
  std::vector<std::size_t> wanted_;
  std::vector<Written> written_;
  std::vector<nb::object> out_;  // one for each of `known_`; not valid: none given
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_GRADIENTS_H_
