// Contradictions between the words of a Problem; the rules on positions are the kernels' own.
#include "src/core/problem_check.h"

#include <string>

#include "src/core/check_attention.h"
#include "src/core/positions.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

Status problem_error(const std::string& text) { return invalid_argument("problem: " + text); }

Status check_sizes(const Problem& problem) {
  const std::int64_t query_heads = problem.query_heads;
  const std::int64_t kv_heads = problem.kv_heads;
  if (kv_heads == 0 ? query_heads != 0 : query_heads % kv_heads != 0)
    return problem_error("H" + std::to_string(query_heads) + "/" + std::to_string(kv_heads) +
                         ": the KV heads must divide the query heads");
  if (problem.width < 1 || problem.value_width < 1)
    return problem_error("D" + std::to_string(problem.width) + "/" + std::to_string(problem.value_width) +
                         ": a width must be at least 1");
  for (const std::int64_t width : {problem.width, problem.value_width})
    if (element_count({problem.batch, query_heads, problem.query_length, width}) < 0 ||
        element_count({problem.batch, kv_heads, problem.key_length, width}) < 0)
      return problem_error("B, H, T and D together name a tensor of more than 2^63 elements");
  return {};
}

Status check_broadcast(const Problem& problem, const std::string& name, const Dims& dims) {
  const Dims full{problem.batch, problem.query_heads, problem.query_length, problem.key_length};
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const int of_full = kMaxRank - dims.rank() + axis;
    if (dims[axis] != 1 && dims[axis] != full[of_full])
      return problem_error(name + " of shape " + to_string(dims) +
                           " does not broadcast to [B,Hq,Tq,Tk] = " + to_string(full));
  }
  return {};
}

Status check_corner(const Problem& problem) {
  const bool used = problem.causality == Causality::kCausal || problem.window != Window{} || problem.slopes;
  if (problem.corner != Corner::kUnset && !used)
    return problem_error("corner=" + std::string(to_string(problem.corner)) +
                         " has nothing to place; add causal, window=L,R or slopes, or leave it out");
  return {};
}

Status check_requests(const Problem& problem) {
  const bool half = problem.dtype == DType::kBF16 || problem.dtype == DType::kF16;
  if (problem.out_dtype && !half)
    return problem_error("out=f32 is for bf16 and f16; the result of " + std::string(to_string(problem.dtype)) +
                         " has its own type");
  if (problem.dlse && !problem.backward) return problem_error("dlse is a gradient; add backward");
  return {};
}

Status check_positions_of(const Problem& problem) {
  if (problem.cu_seqlens_q.empty() != problem.cu_seqlens_k.empty())
    return problem_error(problem.cu_seqlens_q.empty() ? "cu_k needs cu_q beside it" : "cu_q needs cu_k beside it");
  AttentionShape shape;
  shape.batch = problem.batch;
  shape.query_length = problem.query_length;
  shape.key_length = problem.key_length;
  static constexpr double kSlope[] = {1};  // position rules ask only whether there are slopes
  AttentionOptions options;
  options.causality = problem.causality;
  options.corner = problem.corner;
  options.offset = problem.offset;
  options.window = problem.window;
  if (problem.slopes) options.slopes = kSlope;
  options.key_lengths = problem.key_lengths;
  options.cu_seqlens_q = problem.cu_seqlens_q;
  options.cu_seqlens_k = problem.cu_seqlens_k;
  const Status status = check_positions(shape, options);
  return status.is_ok() ? status : problem_error(status.message());
}

Status check_layer_words(const Problem& problem) {
  const LayerWords& layer = problem.layer;
  if (problem.query_length != problem.key_length)
    return problem_error("T" + std::to_string(problem.query_length) + "x" + std::to_string(problem.key_length) +
                         ": a " + std::string(to_string(problem.operation)) + " has one length");
  if (layer.channels < 1) return problem_error("C" + std::to_string(layer.channels) + ": x must be at least 1 wide");
  if (problem.operation == Operation::kLayerNorm && layer.out_channels != 0)
    return problem_error("C: the result of a layernorm is as wide as x; give one number");
  if (layer.eps && !layer.norm) return problem_error("eps belongs to the norm; add norm");
  if (layer.fused && problem.width != problem.value_width)
    return problem_error("fused: v is as wide as q and k in one matrix, and D" + std::to_string(problem.width) + "/" +
                         std::to_string(problem.value_width) + " are two");
  return {};
}

Status check_decode_words(const Problem& problem) {
  if (problem.query_length < 1 || problem.query_length > problem.key_length)
    return problem_error("T" + std::to_string(problem.query_length) + "x" + std::to_string(problem.key_length) +
                         ": the new tokens of a decode, at least one, are among all of them");
  for (const std::int64_t length : problem.key_lengths)
    if (length < problem.query_length)
      return problem_error("lengths: an entry has " + std::to_string(length) + " tokens, fewer than the " +
                           std::to_string(problem.query_length) + " new ones");
  return {};
}

}  // namespace

Status check_problem(const Problem& problem) {
  if (problem.operation == Operation::kLayer || problem.operation == Operation::kLayerNorm)
    QKV_RETURN_IF_ERROR(check_layer_words(problem));
  if (problem.operation == Operation::kDecode) QKV_RETURN_IF_ERROR(check_decode_words(problem));
  QKV_RETURN_IF_ERROR(check_sizes(problem));
  if (problem.keep) QKV_RETURN_IF_ERROR(check_broadcast(problem, "keep", *problem.keep));
  if (problem.bias) QKV_RETURN_IF_ERROR(check_broadcast(problem, "bias", *problem.bias));
  QKV_RETURN_IF_ERROR(check_corner(problem));
  QKV_RETURN_IF_ERROR(check_requests(problem));
  return check_positions_of(problem);
}

}  // namespace qkv
