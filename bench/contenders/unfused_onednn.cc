// The same unfused attention with oneDNN's primitives: matmul, softmax, matmul, a head at a time, f32 or bf16.
// Compiled against the oneDNN of the benchmark's environment.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using dims = memory::dims;
constexpr auto kF32 = memory::data_type::f32;

struct Shape {
  std::int64_t batch, query_heads, kv_heads, query_length, key_length, width, value_width;
  int causal, threads, is_bf16;
};
struct Tensors {  // contiguous [B,H,T,D] of the element type; the gradients (f32) may be null
  const char *q, *k, *v, *d_o;
  char* o;
  float *dq, *dk, *dv;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc rows(std::int64_t m, std::int64_t n, memory::data_type type) { return {{m, n}, type, dims{n, 1}}; }
memory::desc columns(std::int64_t m, std::int64_t n, memory::data_type type) { return {{m, n}, type, dims{1, m}}; }

// c = factor · a b [+ mask] [+ c]
struct Product {
  Product(const memory::desc& a, const memory::desc& b, const memory::desc& c, float factor = 1,
          const memory::desc* mask = nullptr, bool accumulate = false) {
    dnnl::post_ops after;
    if (factor != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0);
    if (mask != nullptr) after.append_binary(dnnl::algorithm::binary_add, *mask);
    if (accumulate) after.append_sum(1);
    mask_at = factor != 1 ? 1 : 0;
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    description = dnnl::matmul::primitive_desc(engine(), a, b, c, attributes);
    primitive = dnnl::matmul(description);
    scratch = memory(description.scratchpad_desc(), engine());
  }
  void run(dnnl::stream& stream, const void* a, const void* b, void* c, const memory* mask = nullptr) {
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, memory(description.src_desc(), engine(), const_cast<void*>(a))},
        {DNNL_ARG_WEIGHTS, memory(description.weights_desc(), engine(), const_cast<void*>(b))},
        {DNNL_ARG_DST, memory(description.dst_desc(), engine(), c)},
        {DNNL_ARG_SCRATCHPAD, scratch}};
    if (mask != nullptr) arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(mask_at) | DNNL_ARG_SRC_1, *mask});
    primitive.execute(stream, arguments);
  }
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  memory scratch;
  int mask_at = 0;
};

// The primitives and the scratch of one thread.
class Head {
 public:
  Head(const Shape& s, std::int64_t m, bool backward) : stream_(engine()) {
    const auto type = s.is_bf16 != 0 ? memory::data_type::bf16 : kF32;
    const std::int64_t n = s.key_length, d = s.width, w = s.value_width;
    const float factor = 1 / std::sqrt(static_cast<float>(d));
    const memory::desc scores = rows(m, n, kF32), weights = rows(m, n, type);
    if (s.causal != 0 && s.query_length > 1) make_mask(s, scores);
    scores_product_ =
        std::make_unique<Product>(rows(m, d, type), columns(d, n, type), scores, factor, mask_ ? &scores : nullptr);
    output_product_ = std::make_unique<Product>(weights, rows(n, w, type), rows(m, w, type));
    softmax_desc_ = dnnl::softmax_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training,
                                                          dnnl::algorithm::softmax_accurate, scores, weights, 1);
    softmax_ = dnnl::softmax_forward(softmax_desc_);
    scores_ = memory(scores, engine());
    weights_ = type == kF32 ? scores_ : memory(weights, engine());
    if (!backward) return;
    dp_ = memory(weights, engine());  // and ds after it
    dp_product_ = std::make_unique<Product>(rows(m, w, type), columns(w, n, type), weights);
    dv_product_ =
        std::make_unique<Product>(columns(n, m, type), rows(m, w, type), rows(n, w, kF32), 1.0f, nullptr, true);
    dq_product_ = std::make_unique<Product>(weights, rows(n, d, type), rows(m, d, kF32), factor);
    dk_product_ =
        std::make_unique<Product>(columns(n, m, type), rows(m, d, type), rows(n, d, kF32), factor, nullptr, true);
    softmax_backward_desc_ = dnnl::softmax_backward::primitive_desc(engine(), dnnl::algorithm::softmax_accurate,
                                                                    weights, weights, weights, 1, softmax_desc_);
    softmax_backward_ = dnnl::softmax_backward(softmax_backward_desc_);
  }

  void forward(const char* q, const char* k, const char* v, char* o) {
    scores_product_->run(stream_, q, k, scores_.get_data_handle(), mask_ ? mask_.get() : nullptr);
    softmax_.execute(stream_, {{DNNL_ARG_SRC, scores_}, {DNNL_ARG_DST, weights_}});
    output_product_->run(stream_, weights_.get_data_handle(), v, o);
    stream_.wait();
  }

  void backward(const char* q, const char* k, const char* v, const char* d_o, float* dq, float* dk, float* dv) {
    dv_product_->run(stream_, weights_.get_data_handle(), d_o, dv);
    dp_product_->run(stream_, d_o, v, dp_.get_data_handle());
    softmax_backward_.execute(stream_, {{DNNL_ARG_DST, weights_}, {DNNL_ARG_DIFF_DST, dp_}, {DNNL_ARG_DIFF_SRC, dp_}});
    dq_product_->run(stream_, dp_.get_data_handle(), k, dq);
    dk_product_->run(stream_, dp_.get_data_handle(), q, dk);
    stream_.wait();
  }

 private:
  // 0 where key j may be seen by query i, −inf elsewhere, to be added to the scores.
  void make_mask(const Shape& s, const memory::desc& scores) {
    mask_ = std::make_unique<memory>(scores, engine());
    auto* values = static_cast<float*>(mask_->get_data_handle());
    for (std::int64_t i = 0; i < s.query_length; ++i)
      for (std::int64_t j = 0; j < s.key_length; ++j)
        values[i * s.key_length + j] = j <= i + s.key_length - s.query_length ? 0.0f : -INFINITY;
  }

  dnnl::stream stream_;
  std::unique_ptr<memory> mask_;
  std::unique_ptr<Product> scores_product_, output_product_, dp_product_, dv_product_, dq_product_, dk_product_;
  dnnl::softmax_forward::primitive_desc softmax_desc_;
  dnnl::softmax_forward softmax_;
  dnnl::softmax_backward::primitive_desc softmax_backward_desc_;
  dnnl::softmax_backward softmax_backward_;
  memory scores_, weights_, dp_;
};

struct Attention {
  Shape shape;
  bool backward;
  std::vector<std::unique_ptr<Head>> heads;
};

std::string last_error;

void group(const Attention& a, const Tensors& t, std::int64_t at, Head& head) {
  const Shape& s = a.shape;
  const std::int64_t size = s.is_bf16 != 0 ? 2 : 4, of_group = s.query_heads / s.kv_heads;
  const char* k = t.k + at * s.key_length * s.width * size;
  const char* v = t.v + at * s.key_length * s.value_width * size;
  float* dk = a.backward ? t.dk + at * s.key_length * s.width : nullptr;
  float* dv = a.backward ? t.dv + at * s.key_length * s.value_width : nullptr;
  if (a.backward) {
    std::memset(dk, 0, static_cast<std::size_t>(s.key_length * s.width) * sizeof(float));
    std::memset(dv, 0, static_cast<std::size_t>(s.key_length * s.value_width) * sizeof(float));
  }
  const std::int64_t steps = s.query_length == 1 ? 1 : of_group;  // one query a head: the group is one matrix
  for (std::int64_t g = 0; g < steps; ++g) {
    const std::int64_t row = (at * of_group + g) * s.query_length;
    const char* q = t.q + row * s.width * size;
    head.forward(q, k, v, t.o + row * s.value_width * size);
    if (a.backward) head.backward(q, k, v, t.d_o + row * s.value_width * size, t.dq + row * s.width, dk, dv);
  }
}

}  // namespace

extern "C" {

const char* onednn_error() { return last_error.c_str(); }

const char* onednn_version() {
  static const dnnl_version_t* const v = dnnl_version();
  static const std::string text =
      std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  return text.c_str();
}

// Null on an error.
Attention* onednn_attention(const Shape* shape, int backward) {
  try {
    auto made = std::make_unique<Attention>(Attention{*shape, backward != 0, {}});
    const std::int64_t m = shape->query_length == 1 ? shape->query_heads / shape->kv_heads : shape->query_length;
    for (int i = 0; i < shape->threads; ++i) made->heads.push_back(std::make_unique<Head>(*shape, m, made->backward));
    return made.release();
  } catch (const std::exception& error) {
    last_error = error.what();
    return nullptr;
  }
}
void onednn_free(const Attention* attention) { delete attention; }

void onednn_run(const Attention* attention, const Tensors* tensors) {
  const Shape& s = attention->shape;
  const std::int64_t groups = s.batch * s.kv_heads;
#pragma omp parallel for schedule(static, 1) num_threads(s.threads)
  for (int worker = 0; worker < s.threads; ++worker)
    for (std::int64_t at = worker; at < groups; at += s.threads)
      group(*attention, *tensors, at, *attention->heads[static_cast<std::size_t>(worker)]);
}

// y [m,n] = x [m,k] w [k,n] + b [n], on all threads of OpenMP.
struct Linear {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::stream stream;
};

Linear* onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, int is_bf16) {
  try {
    const auto type = is_bf16 != 0 ? memory::data_type::bf16 : kF32;
    const dnnl::matmul::primitive_desc description(engine(), rows(m, k, type), rows(k, n, type), rows(1, n, type),
                                                   rows(m, n, type));
    return new Linear{description, dnnl::matmul(description), dnnl::stream(engine())};
  } catch (const std::exception& error) {
    last_error = error.what();
    return nullptr;
  }
}
void onednn_free_product(const Linear* linear) { delete linear; }

void onednn_run_product(Linear* linear, void* x, void* w, void* b, void* y) {
  const auto& d = linear->description;
  linear->primitive.execute(linear->stream, {{DNNL_ARG_SRC, memory(d.src_desc(), engine(), x)},
                                             {DNNL_ARG_WEIGHTS, memory(d.weights_desc(), engine(), w)},
                                             {DNNL_ARG_BIAS, memory(d.bias_desc(), engine(), b)},
                                             {DNNL_ARG_DST, memory(d.dst_desc(), engine(), y)}});
  linear->stream.wait();
}

}  // extern "C"
