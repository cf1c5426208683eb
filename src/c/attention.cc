// qkv_attention_forward, _backward and _decode.
#include "qkv/attention.h"

#include "src/c/last_error.h"
#include "src/c/reader.h"

using qkv::c::guarded;
using qkv::c::Reader;

qkv_status qkv_attention_forward(const qkv_attention_forward_args* args, const qkv_attention_options* options,
                                 const qkv_execution* execution, qkv_report* report) {
  return guarded([&]() -> qkv::Status {
    static constexpr qkv_attention_forward_args kInitial = QKV_ATTENTION_FORWARD_ARGS_INIT;
    Reader read("attention_forward");
    const qkv_attention_forward_args a = read.required("args", args, kInitial);
    const qkv::AttentionInputs inputs{read.required_tensor("q", a.q), read.required_tensor("k", a.k),
                                      read.required_tensor("v", a.v)};
    const qkv::AttentionOutputs outputs{read.required_tensor("o", a.o), read.tensor("lse", a.lse)};
    const qkv::AttentionOptions what = read.options(options);
    read.check_corner(what);
    return read.run(execution, report,
                    [&](const qkv::Execution& how) { return qkv::attention_forward(inputs, outputs, what, how); });
  });
}

qkv_status qkv_attention_backward(const qkv_attention_backward_args* args, const qkv_attention_options* options,
                                  const qkv_execution* execution, qkv_report* report) {
  return guarded([&]() -> qkv::Status {
    static constexpr qkv_attention_backward_args kInitial = QKV_ATTENTION_BACKWARD_ARGS_INIT;
    Reader read("attention_backward");
    const qkv_attention_backward_args a = read.required("args", args, kInitial);
    const qkv::AttentionBackwardInputs inputs{read.required_tensor("q", a.q),     read.required_tensor("k", a.k),
                                              read.required_tensor("v", a.v),     read.required_tensor("o", a.o),
                                              read.required_tensor("lse", a.lse), read.required_tensor("d_o", a.d_o),
                                              read.tensor("d_lse", a.d_lse)};
    const qkv::AttentionBackwardOutputs outputs{read.tensor("dq", a.dq), read.tensor("dk", a.dk),
                                                read.tensor("dv", a.dv), read.tensor("dbias", a.dbias),
                                                read.tensor("dsinks", a.dsinks)};
    const qkv::AttentionOptions what = read.options(options);
    read.check_corner(what);
    return read.run(execution, report,
                    [&](const qkv::Execution& how) { return qkv::attention_backward(inputs, outputs, what, how); });
  });
}

qkv_status qkv_attention_decode(const qkv_attention_decode_args* args, const qkv_attention_options* options,
                                const qkv_execution* execution, qkv_report* report) {
  return guarded([&]() -> qkv::Status {
    static constexpr qkv_attention_decode_args kInitial = QKV_ATTENTION_DECODE_ARGS_INIT;
    Reader read("attention_decode");
    const qkv_attention_decode_args a = read.required("args", args, kInitial);
    const qkv::DecodeInputs inputs{read.required_tensor("q", a.q), read.tensor("k", a.k), read.tensor("v", a.v)};
    const qkv::AttentionOutputs outputs{read.required_tensor("o", a.o), read.tensor("lse", a.lse)};
    const qkv::KeyValueCache cache = read.cache(a.cache);
    const qkv::AttentionOptions what = read.options(options);
    return read.run(execution, report, [&](const qkv::Execution& how) {
      return qkv::attention_decode(inputs, cache, outputs, what, how);
    });
  });
}
