// Attention and its gradient as typed FFI handlers of XLA (jax.ffi), where jaxlib's headers were there at build.
#include "apps/python/jax_ffi.h"

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "apps/python/execution.h"
#include "qkv/attention.h"
#include "src/core/check_attention.h"
#include "src/core/four_axes.h"

#if QKV_HAS_JAX
#include <xla/ffi/api/ffi.h>

#include "apps/python/jax_call.h"
#endif

namespace qkv::python {

void check_shapes(nb::tuple inputs, nb::tuple options) {
  const Options given(options);
  const Input q("q", inputs[0]), k("k", inputs[1]), v("v", inputs[2]);
  const Layout layout = read_layout(given);
  const ReadOptions read(given, query_of(q.view, layout));
  const AttentionInputs views{with_four_axes(q.view, layout), with_four_axes(k.view, layout),
                              with_four_axes(v.view, layout)};
  raise_if_error(check_attention(views, read.get(), TypeRule::kSameType).status());
  read_execution(given);
}

#if QKV_HAS_JAX

namespace {

namespace ffi = xla::ffi;

Status run_forward(const JaxCall& call, std::int64_t repeat) {
  const JaxOptions options(call, repeat);
  const AttentionInputs inputs{call.input("q", repeat), call.input("k", repeat), call.input("v", repeat)};
  return attention_forward(inputs, {call.output("o", repeat), call.output("lse", repeat)}, options.get(),
                           call.execution())
      .status();
}

Status run_backward(const JaxCall& call, std::int64_t repeat) {
  const JaxOptions options(call, repeat);
  const auto in = [&](const char* name) { return call.input(name, repeat); };
  const auto out = [&](const char* name) { return call.output(name, repeat); };
  return attention_backward({in("q"), in("k"), in("v"), in("o"), in("lse"), in("d_o"), in("d_lse")},
                            {out("dq"), out("dk"), out("dv"), out("dbias"), out("dsinks")}, options.get(),
                            call.execution())
      .status();
}

template <Status (*kRun)(const JaxCall&, std::int64_t)>
ffi::Error handle(ffi::RemainingArgs arguments, ffi::RemainingRets results, ffi::Dictionary attributes) {
  const ffi::ErrorOr<JaxCall> call = JaxCall::read(arguments, results, attributes);
  if (!call) return call.error();
  for (std::int64_t repeat = 0; repeat < call->repeats(); ++repeat) {
    const Status status = kRun(*call, repeat);
    if (!status.is_ok()) return ffi::Error::InvalidArgument(status.message());
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(forward_handler, handle<run_forward>, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs());
XLA_FFI_DEFINE_HANDLER(backward_handler, handle<run_backward>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs());

template <class Handler>
nb::capsule as_capsule(Handler* handler) {
  return nb::capsule(reinterpret_cast<void*>(handler));  // NOLINT: the way that jax.ffi takes a function
}

}  // namespace

nb::dict jax_handlers() {
  nb::dict handlers;
  handlers["qkv_attention_forward"] = as_capsule(+forward_handler);
  handlers["qkv_attention_backward"] = as_capsule(+backward_handler);
  return handlers;
}

#else

nb::dict jax_handlers() { return {}; }

#endif

}  // namespace qkv::python
