// From a case to plain arrays, and back to tensors.
#include "tests/mutants/naive_subject.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tests/mutants/naive_attention.h"

namespace mutants {
namespace {

using qkv::Dims;
using qkv::DType;
using qkv::Tensor;
using qkv::View;

float as_bf16(float x) { return qkv::to_float(qkv::to_bf16(x)); }
float as_f16(float x) { return qkv::to_float(qkv::to_f16(x)); }

// The memory of a view as T, as it lies, and the view's strides in it; axes that broadcast have stride 0.
template <class T>
class Copied {
 public:
  explicit Copied(View<const void> view) {
    if (!view.is_present()) return;
    std::int64_t last = 0;
    const int left_out = 4 - view.shape.rank();
    for (int axis = 0; axis < view.shape.rank(); ++axis) {
      last += (view.shape[axis] - 1) * view.strides[axis];
      if (view.shape[axis] > 1) array_.strides[left_out + axis] = view.strides[axis];
    }
    array_.size = last + 1;
    if constexpr (std::is_same_v<T, float>) {
      if (view.dtype == DType::kF32) {  // as it is: it may be far larger than what is in it
        array_.data = view.as<float>().data;
        return;
      }
    }
    for (std::int64_t at = 0; at <= last; ++at) memory_.push_back(static_cast<T>(qkv::element_as_double(view, at)));
  }
  Strided<T> array() const {
    Strided<T> array = array_;
    if (!memory_.empty()) array.data = memory_.data();
    return array;
  }

 private:
  std::vector<T> memory_;
  Strided<T> array_;
};

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

Tensor tensor_of(const std::vector<float>& values, Dims shape, DType type, bool is_across = false) {
  if (is_across) std::swap(shape[0], shape[2]);
  const View<const void> view(values.data(), DType::kF32, shape);
  return std::move(qkv::converted(is_across ? qkv::swap_axes(view, 0, 2) : view, type)).value();
}

// The batch where the sequence is expected, as a module that wants it second is given it. False: the shapes do not fit.
bool exchange_batch(NaiveProblem& naive) {
  const bool has_masks = naive.keep.data != nullptr || naive.key_mask.data != nullptr || naive.bias.data != nullptr;
  if (naive.queries != naive.keys || has_masks || !naive.lengths.empty() || !naive.starts_q.empty()) return false;
  naive.queries = naive.batch;
  naive.batch = std::exchange(naive.keys, naive.batch);
  for (Floats* array : {&naive.q, &naive.k, &naive.v, &naive.d_o}) std::swap(array->strides[0], array->strides[2]);
  return true;
}

From corner_of(qkv::Corner corner) {
  if (corner == qkv::Corner::kBottomRight) return From::kBottomRight;
  return corner == qkv::Corner::kOffset ? From::kOffset : From::kTopLeft;
}

NaiveProblem options_of(const qkv::check::Case& asked) {
  const qkv::Problem& problem = asked.problem;
  NaiveProblem naive;
  naive.batch = problem.batch;
  naive.heads = problem.query_heads;
  naive.kv_heads = problem.kv_heads;
  naive.queries = problem.query_length;
  naive.keys = problem.key_length;
  naive.width = problem.width;
  naive.value_width = problem.value_width;
  naive.causal = problem.causality == qkv::Causality::kCausal;
  naive.left = problem.window.left;
  naive.right = problem.window.right;
  naive.corner = corner_of(problem.corner);
  naive.offset = problem.offset;
  naive.lengths = problem.key_lengths;
  naive.starts_q = problem.cu_seqlens_q;
  naive.starts_k = problem.cu_seqlens_k;
  naive.slopes = floats(asked.slopes);
  naive.sinks = floats(asked.sinks);
  if (problem.scale) naive.scale = static_cast<float>(*problem.scale);
  if (problem.softcap) naive.softcap = static_cast<float>(*problem.softcap);
  if (problem.dtype == DType::kBF16) naive.rounded = as_bf16;
  if (problem.dtype == DType::kF16) naive.rounded = as_f16;
  naive.rounded_f16 = as_f16;
  return naive;
}

}  // namespace

qkv::Result<qkv::check::SubjectAnswer> NaiveSubject::run(const qkv::check::Case& asked) {
  const qkv::Problem& problem = asked.problem;
  NaiveProblem naive = options_of(asked);
  const Copied<float> q(asked.q.view), k(asked.k.view), v(asked.v.view), bias(asked.bias.view), d_o(asked.d_o.view),
      d_lse(asked.d_lse.view);
  const Copied<unsigned char> keep(asked.keep.view), key_mask(asked.key_mask.view);
  naive.q = q.array();
  naive.k = k.array();
  naive.v = v.array();
  naive.bias = bias.array();
  naive.d_o = d_o.array();
  naive.d_lse = d_lse.array().data;
  naive.keep = keep.array();
  naive.key_mask = key_mask.array();
  std::swap(naive.key_mask.strides[0], naive.key_mask.strides[2]);  // [B,Tk] came as [·,·,B,Tk]
  const bool is_across = edits_.has(Edit::kBatchSecond);
  if (is_across && !exchange_batch(naive))
    return qkv::check::SubjectAnswer{qkv::check::SubjectEnd::kFailed, "the shapes do not fit", {}};
  const NaiveResult result = NaiveAttention(naive, edits_).run();
  const std::int64_t batch = problem.batch;
  const Dims rows{batch, problem.query_heads, problem.query_length};
  const DType type = qkv::check::output_type(problem);
  const DType of_lse = qkv::check::lse_type(problem);
  qkv::check::SubjectAnswer answer;
  qkv::check::SubjectOutputs& out = answer.outputs;
  out.o = tensor_of(result.o, {batch, problem.query_heads, problem.query_length, problem.value_width}, type, is_across);
  if (problem.lse) out.lse = tensor_of(result.lse, rows, of_lse, is_across);
  if (!problem.backward) return answer;
  out.dq = tensor_of(result.dq, asked.q.view.shape, type, is_across);
  out.dk = tensor_of(result.dk, asked.k.view.shape, type, is_across);
  out.dv = tensor_of(result.dv, asked.v.view.shape, type, is_across);
  if (problem.bias) out.dbias = tensor_of(result.dbias, *problem.bias, problem.dtype);
  if (problem.sinks) out.dsinks = tensor_of(result.dsinks, {problem.query_heads}, of_lse);
  return answer;
}

}  // namespace mutants
