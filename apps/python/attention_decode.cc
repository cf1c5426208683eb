// qkv.attention_decode: the cache's arrays are written where they are.
#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention.h"
#include "apps/python/attention_options.h"
#include "apps/python/attention_results.h"
#include "apps/python/cache.h"
#include "apps/python/execution.h"
#include "qkv/decode.h"
#include "src/core/four_axes.h"

namespace qkv::python {
nb::object attention_decode(nb::tuple inputs, nb::tuple cache, nb::tuple results, nb::tuple options) {
  const Options given(options);
  const Layout layout = read_layout(given);
  const Input q("q", inputs[0]), k = Input::optional("k", inputs[1]), v = Input::optional("v", inputs[2]);
  Cache kept(cache, layout);
  const ReadOptions read(given, query_of(q.view, layout));
  const DecodeInputs views{with_four_axes(q.view, layout), with_four_axes(k.view, layout),
                           with_four_axes(v.view, layout)};
  const Dims& shape = views.q.shape;  // of another rank than 4 only in a call that is wrong
  const Dims& values = kept.view().v.shape;
  AttentionResults written(q.view, layout, {shape[0], shape[1], shape[2], values[3]}, results, inputs[0]);
  const Status status = run(kept.flops(shape[1] * shape[2]), read_execution(given), [&](const Execution& execution) {
    return attention_decode(views, kept.view(), written.views(), read.get(), execution).status();
  });
  kept.write_lengths();
  raise_outcome(status);
  return written.take();
}

}  // namespace qkv::python
