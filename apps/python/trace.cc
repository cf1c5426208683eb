// The reference's stages as arrays, and LayerNorm by the fast path.
#include "apps/python/trace.h"

#include <cstddef>
#include <cstring>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "apps/python/execution.h"
#include "apps/python/numpy_arrays.h"
#include "qkv/reference.h"
#include "src/core/four_axes.h"
#include "src/ops/layernorm/layernorm.h"

namespace qkv::python {

nb::dict trace(nb::tuple inputs, nb::tuple options) {
  const Options given(options);
  const Input q("q", inputs[0]), k("k", inputs[1]), v("v", inputs[2]);
  const Layout layout = read_layout(given);
  const ReadOptions read(given, query_of(q.view, layout));
  const AttentionInputs views{with_four_axes(q.view, layout), with_four_axes(k.view, layout),
                              with_four_axes(v.view, layout)};
  Trace stages;
  raise_outcome(run(flops_of(views), {}, [&](const Execution& execution) {
    return reference::attention_forward(views, read.get(), &stages, execution.progress).status();
  }));
  nb::dict arrays;
  for (const Stage& stage : stages.stages) {
    View<void> memory;
    const nb::object array = new_numpy(DType::kF64, stage.values.shape(), nb::none(), memory);
    std::memcpy(memory.data, stage.values.view().data, static_cast<std::size_t>(stage.values.size()) * sizeof(double));
    arrays[stage.name.c_str()] = array;
  }
  return arrays;
}

nb::object layer_norm(nb::tuple inputs, double eps) {
  const Input x("x", inputs[0]), gamma = Input::optional("gamma", inputs[1]), beta = Input::optional("beta", inputs[2]);
  Written u(x.view.dtype, x.view.shape, inputs[0]);
  raise_if_error(layernorm_forward(x.view, {gamma.view, beta.view, eps}, u.view()).status());
  return u.take();
}

}  // namespace qkv::python
