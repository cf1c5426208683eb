// Fills the struct of include/qkv/check_abi.h.
#include "src/check/library/call_slots.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "src/check/library/protocol.h"
#include "src/check/variant_cache.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

static_assert(QKV_CHECK_F64 == static_cast<int>(DType::kF64) && QKV_CHECK_F32 == static_cast<int>(DType::kF32) &&
              QKV_CHECK_BF16 == static_cast<int>(DType::kBF16) && QKV_CHECK_F16 == static_cast<int>(DType::kF16) &&
              QKV_CHECK_BOOL == static_cast<int>(DType::kBool));
static_assert(QKV_CHECK_CORNER_UNSET == static_cast<int>(Corner::kUnset) &&
              QKV_CHECK_CORNER_TOP_LEFT == static_cast<int>(Corner::kTopLeft) &&
              QKV_CHECK_CORNER_BOTTOM_RIGHT == static_cast<int>(Corner::kBottomRight) &&
              QKV_CHECK_CORNER_OFFSET == static_cast<int>(Corner::kOffset));

qkv_check_dtype type_of(DType dtype) { return static_cast<qkv_check_dtype>(dtype); }

// Elements from the first to the last one, both included; 0 where an extent is.
std::int64_t span_of(const Dims& shape, const Dims& strides) {
  std::int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) return 0;
    last += (shape[axis] - 1) * strides[axis];
  }
  return last + 1;
}

bool is_row_major(const Dims& shape, const Dims& strides) {
  const Dims usual = contiguous_strides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > 1 && strides[axis] != usual[axis]) return false;
  return true;
}

// A mask lines up with [B,Hq,Tq,Tk] from the right, everything else from the left.
enum class Align { kLeft, kRight };

class Filler {
 public:
  explicit Filler(CallSlots& made) : made_(made) {}

  void input(const char* name, View<const void> view, qkv_check_input& field, Align align = Align::kLeft) {
    if (!view.is_present()) return;
    describe(view.dtype, view.shape, view.strides, field, align);
    add(name, view, field.data).source = view.data;
  }

  void output(const char* name, View<const void> view, qkv_check_output& field, Tensor SubjectOutputs::* into,
              Align align = Align::kLeft) {
    if (!view.is_present()) return;
    describe(view.dtype, view.shape, view.strides, field, align);
    add(name, view, field.data).output = into;
  }

  // An output that holds something before.
  void in_place(const char* name, View<const void> view, qkv_check_output& field, Tensor SubjectOutputs::* into) {
    describe(view.dtype, view.shape, view.strides, field, Align::kLeft);
    Slot& slot = add(name, view, field.data);
    slot.source = view.data;
    slot.output = into;
  }

  void layer_output(const char* name, DType dtype, const Dims& shape, qkv_check_output& field,
                    Tensor LayerOutputs::* into) {
    const View<const void> view(nullptr, dtype, shape);
    describe(dtype, shape, view.strides, field, Align::kLeft);
    add(name, view, field.data).layer_output = into;
  }

  template <class T>
  void list(const char* name, const std::vector<T>& values, const T*& field) {
    if (values.empty()) return;
    const View<const void> view(values.data(), dtype_of<T>(), Dims{static_cast<std::int64_t>(values.size())});
    add(name, view, field).source = values.data();
  }

  void use(bool is_used, qkv_check_uses bit) {
    if (is_used) made_.call.uses |= bit;
  }

 private:
  template <class Field>
  void describe(DType dtype, const Dims& shape, const Dims& strides, Field& field, Align align) {
    field.dtype = type_of(dtype);
    const int first = align == Align::kRight ? kMaxRank - shape.rank() : 0;
    for (int axis = 0; axis < kMaxRank; ++axis) {
      const bool is_own = axis >= first && axis < first + shape.rank();
      field.shape[axis] = is_own ? shape[axis - first] : 1;
      field.strides[axis] = is_own && shape[axis - first] != 1 ? strides[axis - first] : 0;
    }
    use(!is_row_major(shape, strides), QKV_CHECK_USES_STRIDES);
  }

  template <class Pointer>
  Slot& add(const char* name, View<const void> view, const Pointer& field) {
    Slot slot;
    slot.name = name;
    slot.dtype = view.dtype;
    slot.shape = view.shape;
    slot.strides = view.strides;
    slot.element_bytes = static_cast<std::int64_t>(size_of(view.dtype));
    slot.bytes = static_cast<std::size_t>(span_of(view.shape, view.strides) * slot.element_bytes);
    slot.pointer_at =
        static_cast<std::size_t>(reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&made_.call));
    made_.slots.push_back(slot);
    return made_.slots.back();
  }

  CallSlots& made_;
};

void fill_numbers(const Problem& problem, qkv_check_call& call) {
  call.struct_size = sizeof(call);
  call.batch = problem.batch;
  call.query_heads = problem.query_heads;
  call.kv_heads = problem.kv_heads;
  call.query_length = problem.query_length;
  call.key_length = problem.key_length;
  call.width = problem.width;
  call.value_width = problem.value_width;
  call.dtype = type_of(problem.dtype);
  call.scale = problem.scale.value_or(1 / std::sqrt(static_cast<double>(problem.width)));
  call.softcap = problem.softcap.value_or(0);
  call.causal = problem.causality == Causality::kCausal ? 1 : 0;
  call.window_left = problem.window.left;
  call.window_right = problem.window.right;
  // Where positions matter and no corner is named, Tq = Tk: the corners are one.
  const bool has_positions = call.causal != 0 || problem.window != Window{} || problem.slopes;
  const Corner unset = has_positions ? Corner::kBottomRight : Corner::kUnset;
  call.corner = static_cast<qkv_check_corner>(problem.corner == Corner::kUnset ? unset : problem.corner);
  call.offset = problem.offset;
  call.sequences = problem.cu_seqlens_q.empty() ? 0 : static_cast<std::int64_t>(problem.cu_seqlens_q.size()) - 1;
}

void fill_uses(const Problem& problem, Filler& fill) {
  fill.use(problem.causality == Causality::kCausal, QKV_CHECK_USES_CAUSAL);
  fill.use(problem.window != Window{}, QKV_CHECK_USES_WINDOW);
  fill.use(problem.keep.has_value(), QKV_CHECK_USES_KEEP);
  fill.use(problem.key_mask, QKV_CHECK_USES_KEY_MASK);
  fill.use(!problem.key_lengths.empty() && problem.operation != Operation::kDecode, QKV_CHECK_USES_KEY_LENGTHS);
  fill.use(!problem.cu_seqlens_q.empty(), QKV_CHECK_USES_PACKED);
  fill.use(problem.bias.has_value(), QKV_CHECK_USES_BIAS);
  fill.use(problem.slopes, QKV_CHECK_USES_SLOPES);
  fill.use(problem.sinks, QKV_CHECK_USES_SINKS);
  fill.use(problem.softcap.has_value(), QKV_CHECK_USES_SOFTCAP);
  fill.use(problem.scale.has_value(), QKV_CHECK_USES_SCALE);
  fill.use(problem.kv_heads != problem.query_heads, QKV_CHECK_USES_GROUPS);
  fill.use(output_type(problem) != problem.dtype, QKV_CHECK_USES_OUT_DTYPE);
  fill.use(problem.backward, QKV_CHECK_USES_GRADIENTS);
  fill.use(problem.dlse, QKV_CHECK_USES_D_LSE);
  fill.use(problem.operation == Operation::kDecode, QKV_CHECK_USES_CACHE);
  fill.use(problem.operation == Operation::kLayer, QKV_CHECK_USES_LAYER);
  fill.use(problem.layer.norm, QKV_CHECK_USES_NORM);
  fill.use(problem.layer.fused, QKV_CHECK_USES_FUSED);
  fill.use(problem.layer.biases, QKV_CHECK_USES_BIASES);
  fill.use(problem.layer.out_channels != 0, QKV_CHECK_USES_OUTPUT);
}

void fill_scores(const Case& asked, Filler& fill, qkv_check_call& call) {
  fill.input("keep", asked.keep.view, call.keep, Align::kRight);
  fill.input("key_mask", asked.key_mask.view, call.key_mask);
  fill.input("bias", asked.bias.view, call.bias, Align::kRight);
  // Those of a decode are in its cache.
  if (asked.problem.operation != Operation::kDecode)
    fill.list("key_lengths", asked.problem.key_lengths, call.key_lengths);
  fill.list("cu_seqlens_q", asked.problem.cu_seqlens_q, call.cu_seqlens_q);
  fill.list("cu_seqlens_k", asked.problem.cu_seqlens_k, call.cu_seqlens_k);
  fill.list("slopes", asked.slopes, call.slopes);
  fill.list("sinks", asked.sinks, call.sinks);
}

// The new tokens, and the cache as it is before the step.
Status fill_cache(const Case& asked, Filler& fill, CallSlots& made) {
  QKV_ASSIGN_OR_RETURN(CacheState cache, cache_before(asked));
  QKV_ASSIGN_OR_RETURN(CacheState tokens, new_tokens(asked));
  made.cache_lengths = std::move(cache.lengths);
  for (Tensor* tensor : {&tokens.k, &tokens.v, &cache.k, &cache.v}) made.tensors.push_back(std::move(*tensor));
  fill.input("k", made.tensors[0].view(), made.call.k);
  fill.input("v", made.tensors[1].view(), made.call.v);
  fill.in_place("cache_k", made.tensors[2].view(), made.call.cache_k, &SubjectOutputs::cache_k);
  fill.in_place("cache_v", made.tensors[3].view(), made.call.cache_v, &SubjectOutputs::cache_v);
  fill.list("cache_lengths", made.cache_lengths, made.call.cache_lengths);
  return {};
}

Status fill_heads(const Case& asked, Filler& fill, CallSlots& made) {
  // Only their shapes and strides are wanted here.
  QKV_ASSIGN_OR_RETURN(const CaseOutputs outputs, make_outputs(asked.problem));
  qkv_check_call& call = made.call;
  fill.input("q", asked.q.view, call.q);
  if (asked.problem.operation == Operation::kDecode) {
    QKV_RETURN_IF_ERROR(fill_cache(asked, fill, made));
  } else {
    fill.input("k", asked.k.view, call.k);
    fill.input("v", asked.v.view, call.v);
  }
  fill.input("d_o", asked.d_o.view, call.d_o);
  fill.input("d_lse", asked.d_lse.view, call.d_lse);
  fill.output("o", outputs.o.view, call.o, &SubjectOutputs::o);
  fill.output("lse", outputs.lse.view, call.lse, &SubjectOutputs::lse);
  if (!asked.problem.backward) return {};
  QKV_ASSIGN_OR_RETURN(const CaseGradients gradients, make_gradients(asked.problem));
  fill.output("dq", gradients.dq.view, call.dq, &SubjectOutputs::dq);
  fill.output("dk", gradients.dk.view, call.dk, &SubjectOutputs::dk);
  fill.output("dv", gradients.dv.view, call.dv, &SubjectOutputs::dv);
  fill.output("dbias", gradients.dbias.view, call.dbias, &SubjectOutputs::dbias, Align::kRight);
  fill.output("dsinks", gradients.dsinks.view, call.dsinks, &SubjectOutputs::dsinks);
  return {};
}

// In the order of kLayerTensors and kLayerOutputs.
constexpr qkv_check_input qkv_check_call::* kInputs[] = {
    &qkv_check_call::x,    &qkv_check_call::gamma, &qkv_check_call::beta, &qkv_check_call::wq, &qkv_check_call::wk,
    &qkv_check_call::wv,   &qkv_check_call::bq,    &qkv_check_call::bk,   &qkv_check_call::bv, &qkv_check_call::wqkv,
    &qkv_check_call::bqkv, &qkv_check_call::wo,    &qkv_check_call::bo,   &qkv_check_call::d_y};
constexpr qkv_check_output qkv_check_call::* kOutputs[] = {
    &qkv_check_call::y,   &qkv_check_call::dx,  &qkv_check_call::dgamma, &qkv_check_call::dbeta,
    &qkv_check_call::dwq, &qkv_check_call::dwk, &qkv_check_call::dwv,    &qkv_check_call::dbq,
    &qkv_check_call::dbk, &qkv_check_call::dbv, &qkv_check_call::dwqkv,  &qkv_check_call::dbqkv,
    &qkv_check_call::dwo, &qkv_check_call::dbo};
static_assert(std::size(kInputs) == kLayerTensors.size() && std::size(kOutputs) == kLayerOutputs.size());

void fill_layer(const Case& asked, Filler& fill, qkv_check_call& call) {
  const Problem& problem = asked.problem;
  call.channels = problem.layer.channels;
  call.out_channels = layer_output_shape(problem)[2];
  call.eps = asked.layer_given().options.eps;
  for (std::size_t i = 0; i < kLayerTensors.size(); ++i)
    fill.input(kLayerTensors[i].name, (asked.layer.*kLayerTensors[i].member).view, call.*kInputs[i]);
  for (std::size_t i = 0; i < kLayerOutputs.size(); ++i) {
    const NamedLayerOutput& output = kLayerOutputs[i];
    Dims shape = (asked.layer.*output.of).view.shape;
    const bool is_result = output.member == &LayerOutputs::y;
    if (is_result) shape = layer_output_shape(problem);
    const bool is_asked = is_result || (problem.backward && (asked.layer.*output.of).view.is_present());
    if (is_asked) fill.layer_output(output.name, problem.dtype, shape, call.*kOutputs[i], output.member);
  }
}

}  // namespace

Result<CallSlots> slots_of(const Case& asked) {
  CallSlots made;
  Filler fill(made);
  fill_numbers(asked.problem, made.call);
  fill_uses(asked.problem, fill);
  if (asked.problem.operation != Operation::kLayerNorm) fill_scores(asked, fill, made.call);
  if (is_layer(asked.problem)) {
    fill_layer(asked, fill, made.call);
  } else {
    QKV_RETURN_IF_ERROR(fill_heads(asked, fill, made));
  }
  return made;
}

}  // namespace qkv::check
