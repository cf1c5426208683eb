// Sufficient conditions only; the rules themselves are in check_attention.cc.
#include "src/core/glance.h"

#include <cmath>
#include <cstdint>

namespace qkv {
namespace {

constexpr std::int64_t kLongest = 1 << 15;  // products of four of them fit 63 bits

// [B,H,T,W] with nothing between its elements, as it is or with H and T swapped in memory; no axis empty.
bool is_packed(const View<const void>& view) {
  const Dims& shape = view.shape;
  const Dims& strides = view.strides;
  if (view.data == nullptr || shape.rank() != 4 || strides.rank() != 4) return false;
  for (int axis = 0; axis < 4; ++axis)
    if (shape[axis] < 1 || shape[axis] > kLongest) return false;
  if (strides[3] != 1 || strides[0] != shape[1] * shape[2] * shape[3]) return false;
  const bool heads_first = strides[2] == shape[3] && strides[1] == shape[2] * shape[3];
  const bool tokens_first = strides[1] == shape[3] && strides[2] == shape[1] * shape[3];
  return heads_first || tokens_first;
}

struct Bytes {
  std::uintptr_t begin, end;
};
Bytes bytes_of(const View<const void>& view) {
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  std::int64_t count = 1;
  for (int axis = 0; axis < view.shape.rank(); ++axis) count *= view.shape[axis];
  return {begin, begin + static_cast<std::uintptr_t>(count) * size_of(view.dtype)};
}
bool apart(const Bytes& a, const Bytes& b) { return a.end <= b.begin || b.end <= a.begin; }

bool is_plain(const AttentionOptions& options, bool square) {
  return !options.keep.is_present() && !options.bias.is_present() && !options.key_mask.is_present() &&
         options.key_lengths.empty() && options.cu_seqlens_q.empty() && options.cu_seqlens_k.empty() &&
         options.slopes.empty() && options.sinks.empty() && !options.softcap && options.window == Window{} &&
         options.corner == Corner::kUnset && options.offset == 0 && (options.causality == Causality::kNone || square) &&
         (!options.scale || std::isfinite(*options.scale));
}

}  // namespace

bool right_at_a_glance(const AttentionInputs& inputs, const AttentionOutputs& outputs, const AttentionOptions& options,
                       AttentionShape& shape) {
  const View<const void>& q = inputs.q;
  const View<const void>& k = inputs.k;
  const View<const void>& v = inputs.v;
  const View<const void> o = outputs.o;
  if (outputs.lse.is_present() || !is_packed(q) || !is_packed(k) || !is_packed(v) || !is_packed(o)) return false;
  const bool one_type = k.dtype == q.dtype && v.dtype == q.dtype && o.dtype == q.dtype && is_floating(q.dtype);
  if (!one_type) return false;
  const bool inner = k.shape[3] == q.shape[3] && v.shape[2] == k.shape[2] && v.shape[1] == k.shape[1] &&
                     k.shape[0] == q.shape[0] && v.shape[0] == q.shape[0] && q.shape[1] % k.shape[1] == 0;
  const bool outer =
      o.shape[0] == q.shape[0] && o.shape[1] == q.shape[1] && o.shape[2] == q.shape[2] && o.shape[3] == v.shape[3];
  if (!inner || !outer || !is_plain(options, q.shape[2] == k.shape[2])) return false;
  const Bytes written = bytes_of(o);
  if (!apart(written, bytes_of(q)) || !apart(written, bytes_of(k)) || !apart(written, bytes_of(v))) return false;
  shape = {q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3]};
  return true;
}

}  // namespace qkv
