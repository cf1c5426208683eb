// The arguments that a layer's functions share: x, the parameters by name, heads, norm, and what is kept.
#ifndef QKV_APPS_PYTHON_LAYER_ARGUMENTS_H_
#define QKV_APPS_PYTHON_LAYER_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "qkv/layer.h"
#include "src/core/check_layer.h"

namespace qkv::python {

inline constexpr std::array<std::string_view, 12> kParameterNames = {"gamma", "beta", "wq",   "wk",   "wv", "bq",
                                                                     "bk",    "bv",   "wqkv", "bqkv", "wo", "bo"};
inline constexpr std::array<std::string_view, 3> kKeptNames = {"qkv", "o", "lse"};

// One call's x [B,T,C] or [T,C], parameters and options, checked together.
class LayerArguments {
 public:
  // `inputs` begins with x and a dict from kParameterNames to arrays; `layer` is (query_heads, kv_heads, norm, eps).
  // Raises TypeError and ValueError, also for a shape that does not fit.
  LayerArguments(nb::tuple inputs, nb::tuple layer, const Options& given);

  const View<const void>& x() const { return x_; }  // [B,T,C]
  bool has_batch() const { return given_x_.view.shape.rank() != 2; }
  const LayerParameters& parameters() const { return views_; }
  const LayerOptions& options() const { return options_; }
  const LayerShape& shape() const { return shape_; }
  const Input& parameter(std::size_t which) const { return parameters_[which]; }  // a place in kParameterNames
  nb::handle object(std::size_t which) const { return objects_[which]; }          // Python's own, or None
  double flops() const;                                                           // of a forward pass, about

  // [B,T,width] in the axes of Python's x, and back.
  Dims shown(std::int64_t width) const;
  View<void> with_batch(const View<void>& view) const;

 private:
  void read_parameters(nb::handle parameters);
  void read_options(nb::tuple layer, const Options& given);

  Input given_x_;
  View<const void> x_;
  std::array<Input, kParameterNames.size()> parameters_;
  std::array<nb::handle, kParameterNames.size()> objects_;
  LayerParameters views_;
  std::optional<ReadOptions> attention_;
  LayerOptions options_;
  LayerShape shape_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_LAYER_ARGUMENTS_H_
