// The C interface gives the bits and the messages of the C++ one, takes structs of other versions, and lets nothing
// through that is not what it says.
#include "qkv/c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "qkv/c_layer.h"
#include "qkv/version.h"
#include "tests/attention_backward_testing.h"
#include "tests/decode_testing.h"
#include "tests/layer_case.h"

namespace qkv {
namespace {

qkv_tensor to_c(const View<const void>& view) {
  qkv_tensor tensor = {const_cast<void*>(view.data), static_cast<qkv_dtype>(view.dtype), view.shape.rank(), {}, {}};
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    tensor.shape[axis] = view.shape[axis];
    tensor.strides[axis] = view.strides[axis];
  }
  return tensor;
}

// Tensors that live as long as this does; absent ones are null.
class Tensors {
 public:
  const qkv_tensor* operator()(const View<const void>& view) {
    if (!view.is_present()) return nullptr;
    all_.push_back(std::make_unique<qkv_tensor>(to_c(view)));
    return all_.back().get();
  }

 private:
  std::vector<std::unique_ptr<qkv_tensor>> all_;
};

qkv_attention_options to_c(const AttentionOptions& options, Tensors& tensors) {
  qkv_attention_options c = QKV_ATTENTION_OPTIONS_INIT;
  c.has_scale = options.scale.has_value();
  c.scale = options.scale.value_or(0);
  c.softcap = options.softcap.value_or(0);
  c.causal = options.causality == Causality::kCausal;
  c.window_left = options.window.left;
  c.window_right = options.window.right;
  c.corner = static_cast<qkv_corner>(options.corner);
  c.offset = options.offset;
  c.keep = tensors(options.keep);
  c.key_mask = tensors(options.key_mask);
  c.bias = tensors(options.bias);
  c.key_lengths = options.key_lengths.data();
  c.key_lengths_count = options.key_lengths.size();
  c.cu_seqlens_q = options.cu_seqlens_q.data();
  c.cu_seqlens_q_count = options.cu_seqlens_q.size();
  c.cu_seqlens_k = options.cu_seqlens_k.data();
  c.cu_seqlens_k_count = options.cu_seqlens_k.size();
  c.slopes = options.slopes.data();
  c.slopes_count = options.slopes.size();
  c.sinks = options.sinks.data();
  c.sinks_count = options.sinks.size();
  return c;
}

const char* const kLines[] = {
    "attention B2 H4/2 T5x7 D6/4 causal=bottom_right lse",
    "attention B2 H4/2 T9 D8 keep=9x9 key_mask bias=4x9x9 window=3,2 slopes sinks softcap=3 scale=0.3 bf16 lse",
    "attention B2 H2 T5x9 D8 lengths=9,4 causal=offset:2 f64 lse",
    "attention H2 T9 D8 cu_q=0,4,9 cu_k=0,4,9 causal f16 out=f32 lse",
};

TEST(C, forward_gives_the_bits_of_cxx) {
  for (const char* line : kLines) {
    const check::Case c = case_of(line);
    const Ran want = run_case(c, {});
    const check::CaseOutputs outputs = must(check::make_outputs(c.problem));
    Tensors tensors;
    qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
    args.q = tensors(c.q.view);
    args.k = tensors(c.k.view);
    args.v = tensors(c.v.view);
    args.o = tensors(outputs.o.view);
    args.lse = tensors(outputs.lse.view);
    const qkv_attention_options options = to_c(c.options(), tensors);
    qkv_report report = QKV_REPORT_INIT;
    ASSERT_EQ(qkv_attention_forward(&args, &options, nullptr, &report), QKV_OK) << line << ": " << qkv_last_error();
    EXPECT_EQ(bits_of(outputs.o.view), want.o_bits()) << line;
    EXPECT_EQ(bits_of(outputs.lse.view), want.lse_bits()) << line;
    EXPECT_EQ(report.flops, want.report.flops);
    EXPECT_EQ(report.tasks, want.report.tasks);
    EXPECT_EQ(std::string(qkv_target_name(report.target)), to_string(want.report.target));
  }
}

TEST(C, backward_gives_the_bits_of_cxx) {
  const check::Case c = case_of("attention B2 H4/2 T9 D8 causal bias=9 sinks backward dlse");
  const RanBackward want = run_backward(c, {});
  const check::CaseGradients gradients = must(check::make_gradients(c.problem));
  const AttentionBackwardInputs inputs = backward_inputs(c, want.forward);
  const AttentionBackwardOutputs outputs = gradients.views();
  Tensors t;
  qkv_attention_backward_args args = QKV_ATTENTION_BACKWARD_ARGS_INIT;
  args.q = t(inputs.q);
  args.k = t(inputs.k);
  args.v = t(inputs.v);
  args.o = t(inputs.o);
  args.lse = t(inputs.lse);
  args.d_o = t(inputs.d_o);
  args.d_lse = t(inputs.d_lse);
  args.dq = t(outputs.dq);
  args.dk = t(outputs.dk);
  args.dv = t(outputs.dv);
  args.dbias = t(outputs.dbias);
  args.dsinks = t(outputs.dsinks);
  const qkv_attention_options options = to_c(c.options(), t);
  ASSERT_EQ(qkv_attention_backward(&args, &options, nullptr, nullptr), QKV_OK) << qkv_last_error();
  for (const auto& [mine, theirs] : {std::pair{&gradients.dq, &want.gradients.dq},
                                     {&gradients.dk, &want.gradients.dk},
                                     {&gradients.dv, &want.gradients.dv},
                                     {&gradients.dbias, &want.gradients.dbias},
                                     {&gradients.dsinks, &want.gradients.dsinks}})
    EXPECT_EQ(bits_of(mine->view), bits_of(theirs->view));
}

TEST(C, decode_gives_the_bits_of_cxx_and_raises_the_lengths) {
  const check::Case c = case_of("attention B2 H4/2 T2x20 D8 lengths=20,7");
  for (const CacheForm& form : {CacheForm{}, CacheForm{4, DType::kI32, true}}) {
    TestCache expected = make_cache(c, form);
    const Ran want = run_decode(c, expected, form, {});
    TestCache cache = make_cache(c, form);
    const NewTokens tokens = new_tokens(c);
    const check::CaseOutputs outputs = must(check::make_outputs(c.problem));
    Tensors t;
    qkv_cache its = QKV_CACHE_INIT;
    its.k = t(cache.k.view);
    its.v = t(cache.v.view);
    its.block_table = t(cache.view().block_table);
    its.lengths = cache.lengths.data();
    its.lengths_count = cache.lengths.size();
    qkv_attention_decode_args args = QKV_ATTENTION_DECODE_ARGS_INIT;
    args.q = t(c.q.view);
    args.k = t(tokens.k.view);
    args.v = t(tokens.v.view);
    args.o = t(outputs.o.view);
    args.cache = &its;
    ASSERT_EQ(qkv_attention_decode(&args, nullptr, nullptr, nullptr), QKV_OK) << qkv_last_error();
    EXPECT_EQ(bits_of(outputs.o.view), want.o_bits());
    EXPECT_EQ(cache.lengths, expected.lengths);
    EXPECT_EQ(bits_of(cache.k.memory.view()), bits_of(expected.k.memory.view()));
    args.cache = nullptr;
    EXPECT_EQ(qkv_attention_decode(&args, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT);
    EXPECT_STREQ(qkv_last_error(), "attention_decode: cache is null");
  }
}

struct LayerInC {
  explicit LayerInC(const LayerCase& layer) {
    parameters.gamma = t(layer.p.gamma);
    parameters.beta = t(layer.p.beta);
    parameters.wq = t(layer.p.wq);
    parameters.wk = t(layer.p.wk);
    parameters.wv = t(layer.p.wv);
    parameters.bq = t(layer.p.bq);
    parameters.bk = t(layer.p.bk);
    parameters.bv = t(layer.p.bv);
    parameters.wqkv = t(layer.p.wqkv);
    parameters.bqkv = t(layer.p.bqkv);
    parameters.wo = t(layer.p.wo);
    parameters.bo = t(layer.p.bo);
    options.query_heads = layer.options.query_heads;
    options.kv_heads = layer.options.kv_heads;
    options.norm = static_cast<qkv_norm>(layer.options.norm);
  }
  Tensors t;
  qkv_layer_parameters parameters = QKV_LAYER_PARAMETERS_INIT;
  qkv_layer_options options = QKV_LAYER_OPTIONS_INIT;
};

TEST(C, a_layer_gives_the_bits_of_cxx_forward_and_backward) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    LayerForm form;
    form.weights = weights;
    const LayerCase layer(form);
    const check::Placed want = layer.empty_y(), got = layer.empty_y();
    must(layer_forward(layer.x.view, layer.p, want.view, layer.options));
    LayerInC c(layer);
    qkv_layer_forward_args args = QKV_LAYER_FORWARD_ARGS_INIT;
    args.x = c.t(layer.x.view);
    args.y = c.t(got.view);
    args.parameters = &c.parameters;
    ASSERT_EQ(qkv_layer_forward(&args, &c.options, nullptr, nullptr), QKV_OK) << qkv_last_error();
    EXPECT_EQ(bits_of(got.view), bits_of(want.view));

    const check::Placed want_dx = must(check::place_empty(DType::kF32, layer.x.view.shape));
    const check::Placed got_dx = must(check::place_empty(DType::kF32, layer.x.view.shape));
    LayerGradientViews views;
    views.dx = want_dx.view;
    must(layer_backward(layer.x.view, layer.p, layer.d_y.view, views, layer.options));
    qkv_layer_gradients gradients = QKV_LAYER_GRADIENTS_INIT;
    gradients.dx = c.t(got_dx.view);
    qkv_layer_backward_args back = QKV_LAYER_BACKWARD_ARGS_INIT;
    back.x = args.x;
    back.d_y = c.t(layer.d_y.view);
    back.parameters = &c.parameters;
    back.gradients = &gradients;
    ASSERT_EQ(qkv_layer_backward(&back, &c.options, nullptr, nullptr), QKV_OK) << qkv_last_error();
    EXPECT_EQ(bits_of(got_dx.view), bits_of(want_dx.view));
  }
}

TEST(C, a_layer_decodes_as_in_cxx) {
  LayerForm form;
  form.length = 3;
  const LayerCase layer(form);
  const Dims k{form.batch, form.kv_heads, 5, form.width}, v{form.batch, form.kv_heads, 5, form.value_width};
  const check::Placed want = layer.empty_y(), got = layer.empty_y();
  const check::Placed want_k = must(check::place_empty(form.dtype, k)), got_k = must(check::place_empty(form.dtype, k));
  const check::Placed want_v = must(check::place_empty(form.dtype, v)), got_v = must(check::place_empty(form.dtype, v));
  std::vector<std::int64_t> want_lengths = {0, 0}, got_lengths = {0, 0};
  must(layer_decode(layer.x.view, layer.p, {want_k.view, want_v.view, {}, want_lengths}, want.view, layer.options));
  LayerInC c(layer);
  qkv_cache cache = QKV_CACHE_INIT;
  cache.k = c.t(got_k.view);
  cache.v = c.t(got_v.view);
  cache.lengths = got_lengths.data();
  cache.lengths_count = got_lengths.size();
  qkv_layer_decode_args args = QKV_LAYER_DECODE_ARGS_INIT;
  args.x = c.t(layer.x.view);
  args.y = c.t(got.view);
  args.parameters = &c.parameters;
  args.cache = &cache;
  ASSERT_EQ(qkv_layer_decode(&args, &c.options, nullptr, nullptr), QKV_OK) << qkv_last_error();
  EXPECT_EQ(bits_of(got.view), bits_of(want.view));
  EXPECT_EQ(bits_of(got_k.view), bits_of(want_k.view));
  EXPECT_EQ(got_lengths, want_lengths);
  EXPECT_EQ(got_lengths, (std::vector<std::int64_t>{3, 3}));
}

// A forward call that is right, on tensors of one number.
struct Small {
  Small() {
    args.q = &q;
    args.k = &k;
    args.v = &v;
    args.o = &o;
  }
  qkv_status call() const { return qkv_attention_forward(&args, &options, &execution, &report); }

  float numbers[4] = {1, 1, 7, 0};
  int64_t one[4] = {1, 1, 1, 1};
  qkv_tensor q = qkv_contiguous(numbers, QKV_F32, 4, one), k = qkv_contiguous(numbers + 1, QKV_F32, 4, one);
  qkv_tensor v = qkv_contiguous(numbers + 2, QKV_F32, 4, one), o = qkv_contiguous(numbers + 3, QKV_F32, 4, one);
  qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
  qkv_attention_options options = QKV_ATTENTION_OPTIONS_INIT;
  qkv_execution execution = QKV_EXECUTION_INIT;
  mutable qkv_report report = QKV_REPORT_INIT;
};

struct Mistake {
  const char* message;
  qkv_status status;
  void (*make)(Small&);
};

TEST(C, mistakes_have_a_code_and_a_sentence) {
  const Mistake mistakes[] = {
      {"attention: scale must be finite, found nan (q [1,1,1,1], k [1,1,1,1], v [1,1,1,1])", QKV_INVALID_ARGUMENT,
       [](Small& s) {
         s.options.has_scale = true;
         s.options.scale = std::nan("");
       }},
      {"attention: q [B,Hq,Tq,D] needs 4 axes, found 0: []", QKV_SHAPE_MISMATCH, [](Small& s) { s.q.rank = 0; }},
      {"attention_forward: q is null", QKV_INVALID_ARGUMENT, [](Small& s) { s.args.q = nullptr; }},
      {"attention_forward: k is null", QKV_INVALID_ARGUMENT, [](Small& s) { s.args.k = nullptr; }},
      {"attention_forward: v is null", QKV_INVALID_ARGUMENT, [](Small& s) { s.args.v = nullptr; }},
      {"attention_forward: o is null", QKV_INVALID_ARGUMENT, [](Small& s) { s.args.o = nullptr; }},
      {"attention_forward: q.dtype is 99, which is no qkv_dtype", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.q.dtype = static_cast<qkv_dtype>(99); }},
      {"attention_forward: v.rank is 5; expected 0 to 4", QKV_INVALID_ARGUMENT, [](Small& s) { s.v.rank = 5; }},
      {"attention_forward: v.rank is -1; expected 0 to 4", QKV_INVALID_ARGUMENT, [](Small& s) { s.v.rank = -1; }},
      {"attention_forward: options.corner is 4, which is no qkv_corner", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.corner = static_cast<qkv_corner>(4); }},
      {"attention_forward: target is -1, which is no qkv_target", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.execution.target = static_cast<qkv_target>(-1); }},
      {"attention_forward: key_lengths is null, but key_lengths_count is not 0", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.key_lengths_count = 1; }},
      {"attention_forward: key_lengths is given, but key_lengths_count is 0", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.key_lengths = s.one; }},
      {"attention_forward: slopes is given, but slopes_count is 0", QKV_INVALID_ARGUMENT,
       [](Small& s) {
         static constexpr double kSlopes[] = {0.5};
         s.options.slopes = kSlopes;
       }},
      {"attention_forward: options.scale is given, but has_scale is false", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.scale = 2; }},
      {"attention: offset 1 is given without corner=offset (q [1,1,1,1], k [1,1,1,1], v [1,1,1,1])",
       QKV_INVALID_ARGUMENT,
       [](Small& s) {
         s.options.causal = true;
         s.options.offset = 1;
       }},
      {"attention_forward: options.corner has no effect without causal, a window or slopes", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.corner = QKV_CORNER_BOTTOM_RIGHT; }},
      {"attention_forward: sinks is null, but sinks_count is not 0", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.options.sinks_count = 1; }},
      {"attention_forward: args.struct_size is 0; begin the struct with its QKV_..._INIT", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.args.struct_size = 0; }},
      {"attention_forward: report.struct_size is 3; begin the struct with its QKV_..._INIT", QKV_INVALID_ARGUMENT,
       [](Small& s) { s.report.struct_size = 3; }},
  };
  for (const Mistake& mistake : mistakes) {
    Small small;
    mistake.make(small);
    EXPECT_EQ(small.call(), mistake.status) << mistake.message;
    EXPECT_STREQ(qkv_last_error(), mistake.message);
    EXPECT_EQ(small.numbers[3], 0) << mistake.message;
  }
  EXPECT_EQ(qkv_attention_forward(nullptr, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT);
  EXPECT_STREQ(qkv_last_error(), "attention_forward: args is null");
  EXPECT_EQ(qkv_layer_forward(nullptr, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT);
  EXPECT_STREQ(qkv_last_error(), "layer_forward: args is null");
}

// What a call answers for args with its tensors left out one by one; `call` gets them and the names that are required.
template <class Args, class Call>
void expect_null_is_named(Args args, std::initializer_list<std::pair<const char*, const qkv_tensor * Args::*>> required,
                          const char* operation, Call call) {
  for (const auto& [name, field] : required) {
    Args without = args;
    without.*field = nullptr;
    EXPECT_EQ(call(&without), QKV_INVALID_ARGUMENT) << operation << " without " << name;
    EXPECT_EQ(qkv_last_error(), operation + (": " + std::string(name)) + " is null");
  }
}

TEST(C, a_tensor_that_is_required_and_null_is_named) {
  const Small s;
  qkv_attention_backward_args b = QKV_ATTENTION_BACKWARD_ARGS_INIT;
  b.q = b.k = b.v = b.o = b.lse = b.d_o = &s.q;
  using B = qkv_attention_backward_args;
  expect_null_is_named(b, {{"q", &B::q}, {"k", &B::k}, {"v", &B::v}, {"o", &B::o}, {"lse", &B::lse}, {"d_o", &B::d_o}},
                       "attention_backward",
                       [](const B* args) { return qkv_attention_backward(args, nullptr, nullptr, nullptr); });
  qkv_cache cache = QKV_CACHE_INIT;
  qkv_attention_decode_args d = QKV_ATTENTION_DECODE_ARGS_INIT;
  d.q = d.o = &s.q;
  d.cache = &cache;
  EXPECT_EQ(qkv_attention_decode(&d, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT);
  EXPECT_STREQ(qkv_last_error(), "attention_decode: cache.k is null");
  cache.k = cache.v = &s.q;
  using D = qkv_attention_decode_args;
  expect_null_is_named(d, {{"q", &D::q}, {"o", &D::o}}, "attention_decode",
                       [](const D* args) { return qkv_attention_decode(args, nullptr, nullptr, nullptr); });
  const qkv_layer_parameters parameters = QKV_LAYER_PARAMETERS_INIT;
  const qkv_layer_options options = QKV_LAYER_OPTIONS_INIT;
  qkv_layer_forward_args f = QKV_LAYER_FORWARD_ARGS_INIT;
  f.x = f.y = &s.q;
  f.parameters = &parameters;
  using F = qkv_layer_forward_args;
  expect_null_is_named(f, {{"x", &F::x}, {"y", &F::y}}, "layer_forward",
                       [&](const F* args) { return qkv_layer_forward(args, &options, nullptr, nullptr); });
  const qkv_layer_gradients gradients = QKV_LAYER_GRADIENTS_INIT;
  qkv_layer_backward_args lb = QKV_LAYER_BACKWARD_ARGS_INIT;
  lb.x = lb.d_y = &s.q;
  lb.parameters = &parameters;
  lb.gradients = &gradients;
  using L = qkv_layer_backward_args;
  expect_null_is_named(lb, {{"x", &L::x}, {"d_y", &L::d_y}}, "layer_backward",
                       [&](const L* args) { return qkv_layer_backward(args, &options, nullptr, nullptr); });
  qkv_layer_decode_args ld = QKV_LAYER_DECODE_ARGS_INIT;
  ld.x = ld.y = &s.q;
  ld.parameters = &parameters;
  ld.cache = &cache;
  using E = qkv_layer_decode_args;
  expect_null_is_named(ld, {{"x", &E::x}, {"y", &E::y}}, "layer_decode",
                       [&](const E* args) { return qkv_layer_decode(args, &options, nullptr, nullptr); });
}

TEST(C, structs_of_an_older_program_mean_what_they_meant) {
  Small small;
  small.options.struct_size = offsetof(qkv_attention_options, causal);  // an option that came later
  small.options.window_left = -5;                                       // would be an error
  EXPECT_EQ(small.call(), QKV_OK) << qkv_last_error();
  small.report.struct_size = offsetof(qkv_report, flops);
  small.report.flops = -1;
  EXPECT_EQ(small.call(), QKV_OK);
  EXPECT_EQ(small.report.flops, -1) << "behind what the program knows";
  EXPECT_EQ(small.report.tasks, 1);
}

TEST(C, structs_of_a_newer_program_may_not_use_what_is_unknown) {
  struct {
    qkv_attention_options known = QKV_ATTENTION_OPTIONS_INIT;
    double unknown = 0;
  } newer;
  newer.known.struct_size = sizeof(newer);
  Small small;
  EXPECT_EQ(qkv_attention_forward(&small.args, &newer.known, nullptr, nullptr), QKV_OK) << qkv_last_error();
  newer.unknown = 1;
  EXPECT_EQ(qkv_attention_forward(&small.args, &newer.known, nullptr, nullptr), QKV_UNSUPPORTED);
  EXPECT_NE(std::string(qkv_last_error()).find("it is made for a newer one"), std::string::npos);
}

TEST(C, the_last_error_is_one_a_thread) {
  Small small;
  small.args.q = nullptr;
  ASSERT_NE(small.call(), QKV_OK);
  const std::string mine = qkv_last_error();
  std::thread([] { EXPECT_STREQ(qkv_last_error(), ""); }).join();
  small.args.q = &small.q;
  EXPECT_EQ(small.call(), QKV_OK);
  EXPECT_EQ(qkv_last_error(), mine) << "a call that succeeds leaves it";
}

TEST(C, progress_executor_and_workspace_are_the_caller_s) {
  const check::Case c = case_of("attention B2 H4 T300 D32");
  const check::CaseOutputs outputs = must(check::make_outputs(c.problem));
  Tensors t;
  qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
  args.q = t(c.q.view);
  args.k = t(c.k.view);
  args.v = t(c.v.view);
  args.o = t(outputs.o.view);
  std::vector<char> memory(1 << 22);
  qkv_workspace* workspace = qkv_workspace_create_in(memory.data(), memory.size());
  int workers = 0;
  std::int64_t done = 0;
  qkv_execution execution = QKV_EXECUTION_INIT;
  execution.threads = 3;
  execution.workspace = workspace;
  execution.progress = [](void* user, std::int64_t so_far, std::int64_t) {
    *static_cast<std::int64_t*>(user) = so_far;
    return so_far < 1000;
  };
  execution.progress_user = &done;
  execution.executor = [](void* user, int count, void (*body)(void*, int), void* context) {
    for (int worker = 0; worker < count; ++worker) body(context, worker);
    *static_cast<int*>(user) = count;
  };
  execution.executor_user = &workers;
  qkv_report report = QKV_REPORT_INIT;
  ASSERT_EQ(qkv_attention_forward(&args, nullptr, &execution, &report), QKV_OK) << qkv_last_error();
  EXPECT_EQ(workers, 3);
  EXPECT_EQ(done, report.tasks);
  EXPECT_EQ(qkv_workspace_capacity(workspace), memory.size());
  EXPECT_EQ(bits_of(outputs.o.view), run_case(c, {}).o_bits());

  execution.progress = [](void*, std::int64_t, std::int64_t) { return false; };
  EXPECT_EQ(qkv_attention_forward(&args, nullptr, &execution, &report), QKV_CANCELLED);
  execution.progress = [](void*, std::int64_t, std::int64_t) -> bool { throw std::runtime_error("thrown"); };
  execution.threads = 1;
  execution.executor = nullptr;
  EXPECT_EQ(qkv_attention_forward(&args, nullptr, &execution, &report), QKV_UNKNOWN);
  EXPECT_STREQ(qkv_last_error(), "thrown");
  qkv_workspace_destroy(workspace);

  qkv_workspace* own = qkv_workspace_create();
  execution = QKV_EXECUTION_INIT;
  execution.workspace = own;
  EXPECT_EQ(qkv_attention_forward(&args, nullptr, &execution, nullptr), QKV_OK);
  EXPECT_GT(qkv_workspace_capacity(own), 0u);
  qkv_workspace_destroy(own);
  qkv_workspace_destroy(nullptr);
  EXPECT_EQ(qkv_workspace_capacity(nullptr), 0u);
}

TEST(C, names_versions_and_targets_are_told) {
  EXPECT_STREQ(qkv_version(), QKV_VERSION);
  EXPECT_STREQ(qkv_status_name(QKV_SHAPE_MISMATCH), "shape_mismatch");
  EXPECT_STREQ(qkv_status_name(QKV_UNKNOWN), "unknown");
  EXPECT_STREQ(qkv_target_name(QKV_TARGET_AVX512), "avx512");
  EXPECT_STREQ(qkv_target_name(static_cast<qkv_target>(12)), "unknown");
  qkv_target found = QKV_TARGET_AUTO;
  EXPECT_EQ(qkv_resolve_target(QKV_TARGET_AUTO, &found), QKV_OK);
  EXPECT_NE(found, QKV_TARGET_AUTO);
  EXPECT_EQ(qkv_resolve_target(QKV_TARGET_WASM, &found), QKV_UNSUPPORTED);
  EXPECT_EQ(qkv_resolve_target(QKV_TARGET_AUTO, nullptr), QKV_INVALID_ARGUMENT);
  double slopes[3] = {};
  EXPECT_EQ(qkv_alibi_slopes(3, slopes), QKV_OK);
  EXPECT_EQ(slopes[2], alibi_slopes(3)[2]);
  EXPECT_EQ(qkv_alibi_slopes(3, nullptr), QKV_INVALID_ARGUMENT);
  const int64_t shape[] = {2, 3};
  const qkv_tensor tensor = qkv_contiguous(slopes, QKV_F64, 2, shape);
  EXPECT_EQ(tensor.strides[0], 3);
  EXPECT_EQ(tensor.strides[1], 1);
}

}  // namespace
}  // namespace qkv
