// Arrays and options to views, one call, results back to arrays.
#include "apps/python/attention.h"

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "apps/python/attention_results.h"
#include "apps/python/execution.h"
#include "qkv/attention.h"
#include "src/core/check_attention.h"
#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

// Elements of a result that is made before anything is checked: attention_forward checks it all, and one that turns out
// not to fit has cost nothing.
constexpr double kSmallResult = 1e5;

double product(const Dims& shape) {
  double count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) count *= static_cast<double>(shape[axis]);
  return count;
}

// o's [B,Hq,Tq,Dv]. Raises what is wrong with the inputs, unless it finds a small o in them.
Dims shape_of_o(const AttentionInputs& inputs, const AttentionOptions& options) {
  const Dims& q = inputs.q.shape;
  const Dims& v = inputs.v.shape;
  if (q.rank() == kMaxRank && v.rank() == kMaxRank) {
    const Dims shape{q[0], q[1], q[2], v[3]};
    if (product(shape) < kSmallResult) return shape;
  }
  const Result<AttentionShape> checked = check_attention(inputs, options, TypeRule::kSameType);
  raise_if_error(checked.status());
  return {checked->batch, checked->query_heads, checked->query_length, checked->value_width};
}

}  // namespace

nb::object attention(nb::tuple inputs, nb::tuple results, nb::tuple options) {
  const Options given(options);
  const Input q("q", inputs[0]), k("k", inputs[1]), v("v", inputs[2]);
  const Layout layout = read_layout(given);
  const ReadOptions read(given, query_of(q.view, layout));
  const AttentionInputs views{with_four_axes(q.view, layout), with_four_axes(k.view, layout),
                              with_four_axes(v.view, layout)};
  AttentionResults written(q.view, layout, shape_of_o(views, read.get()), results, inputs[0]);
  raise_outcome(run(flops_of(views), read_execution(given), [&](const Execution& execution) {
    return attention_forward(views, written.views(), read.get(), execution).status();
  }));
  return written.take();
}

}  // namespace qkv::python
