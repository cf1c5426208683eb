// How the naive implementation reads q, k and v.
#include <cmath>
#include <utility>

#include "tests/mutants/naive_attention.h"

namespace mutants {
namespace {

using Index = std::int64_t;

// The elements of [a,b,c,d] in the order of their indices.
std::vector<float> gathered(const Floats& array, Index a, Index b, Index c, Index d) {
  std::vector<float> all;
  for (Index i = 0; i < a; ++i)
    for (Index j = 0; j < b; ++j)
      for (Index k = 0; k < c; ++k)
        for (Index l = 0; l < d; ++l) all.push_back(array.at(i, j, k, l));
  return all;
}

void make_contiguous(Floats& array, Index b, Index c, Index d) {
  const Index strides[4] = {b * c * d, c * d, d, 1};
  for (int axis = 0; axis < 4; ++axis) array.strides[axis] = strides[axis];
}

}  // namespace

// [B,T,H·D] seen as [B,H,T,D] at once, instead of as [B,T,H,D] with two axes exchanged.
void NaiveAttention::split_heads(std::vector<float>& memory, Floats& array, Index heads, Index tokens,
                                 Index width) const {
  Floats by_token = array;
  std::swap(by_token.strides[1], by_token.strides[2]);
  memory = gathered(by_token, p_.batch, tokens, heads, width);
  array.data = memory.data();
  array.size = static_cast<Index>(memory.size());
  make_contiguous(array, heads, tokens, width);
}

// Copies q, k and v where an edit changes their memory.
void NaiveAttention::repack() {
  if (edits_.has(Edit::kSplitWithoutTranspose)) {
    split_heads(own_q_, p_.q, p_.heads, p_.queries, p_.width);
    split_heads(own_k_, p_.k, p_.kv_heads, p_.keys, p_.width);
    split_heads(own_v_, p_.v, p_.kv_heads, p_.keys, p_.value_width);
  }
  const Index ignored = edits_.whole(Edit::kStridesIgnored);
  if ((ignored & 1) != 0) make_contiguous(p_.q, p_.heads, p_.queries, p_.width);
  if ((ignored & 2) != 0) make_contiguous(p_.k, p_.kv_heads, p_.keys, p_.width);
  if ((ignored & 4) != 0) make_contiguous(p_.v, p_.kv_heads, p_.keys, p_.value_width);
  if (!edits_.has(Edit::kPackedOrder) || p_.queries != p_.keys || p_.width != p_.value_width) return;
  // One projection [B,T,(Hq + 2 Hkv)·D] of q, k and v, sliced in another order: its digits say which of q 0, k 1, v 2
  // stands where.
  const Index heads = p_.heads + 2 * p_.kv_heads;
  std::vector<float> packed(static_cast<std::size_t>(p_.batch * p_.keys * heads * p_.width));
  Index at = 0;
  for (Index b = 0; b < p_.batch; ++b)
    for (Index t = 0; t < p_.keys; ++t) {
      for (Index h = 0; h < p_.heads; ++h)
        for (Index c = 0; c < p_.width; ++c) packed[static_cast<std::size_t>(at++)] = p_.q.at(b, h, t, c);
      for (Index h = 0; h < p_.kv_heads; ++h)
        for (Index c = 0; c < p_.width; ++c) packed[static_cast<std::size_t>(at++)] = p_.k.at(b, h, t, c);
      for (Index h = 0; h < p_.kv_heads; ++h)
        for (Index c = 0; c < p_.width; ++c) packed[static_cast<std::size_t>(at++)] = p_.v.at(b, h, t, c);
    }
  own_q_ = std::move(packed);
  const Index order = edits_.whole(Edit::kPackedOrder);
  Index column = 0;
  for (const Index which : {order / 100, order / 10 % 10, order % 10}) {
    Floats& array = which == 0 ? p_.q : which == 1 ? p_.k : p_.v;
    array = {own_q_.data() + column,
             static_cast<Index>(own_q_.size()) - column,
             {p_.keys * heads * p_.width, p_.width, heads * p_.width, 1}};
    column += (which == 0 ? p_.heads : p_.kv_heads) * p_.width;
  }
}

Index NaiveAttention::kv_head(Index h) const {
  return edits_.has(Edit::kHeadModulo) ? h % p_.kv_heads : h / (p_.heads / p_.kv_heads);
}

Index NaiveAttention::kv_batch(Index b) const {
  if (edits_.has(Edit::kFirstBatch)) return 0;
  return edits_.has(Edit::kNextBatch) ? (b + 1) % p_.batch : b;
}

std::int64_t NaiveAttention::index(const Floats& array, Index a, Index b, Index c, Index d) const {
  const Index at = array.offset(a, b, c, d);
  return edits_.has(Edit::kIndex32) ? static_cast<std::int32_t>(at) : at;
}

float NaiveAttention::query(Index b, Index h, Index i, Index c) const {
  const auto read = [&](Index head) {
    const Index at = index(p_.q, b, head, i, c);
    return at < p_.q.size ? p_.q.data[at] : 0;  // past the end only where D is padded
  };
  if (!edits_.has(Edit::kGroupSummed)) return read(h);
  const Index group = p_.heads / p_.kv_heads;
  float sum = 0;
  for (Index head = h / group * group; head < (h / group + 1) * group; ++head) sum += read(head);
  return sum;
}

float NaiveAttention::key(Index b, Index h, Index j, Index c) const {
  Index batch = kv_batch(b);
  Index head = kv_head(h);
  if (edits_.has(Edit::kKeysReshaped)) {  // [Tk,D] as [D,Tk]
    const Index flat = c * p_.keys + j;
    j = flat / p_.width;
    c = flat % p_.width;
  }
  if (edits_.has(Edit::kKeysReversed)) {  // [B,Hkv,Tk,D] turned to [D,Tk,Hkv,B] and that taken for [B,Hkv,D,Tk]
    Index flat = ((batch * p_.kv_heads + head) * p_.width + c) * p_.keys + j;
    batch = flat % p_.batch;
    flat /= p_.batch;
    head = flat % p_.kv_heads;
    flat /= p_.kv_heads;
    j = flat % p_.keys;
    c = flat / p_.keys;
  }
  const Index at = index(p_.k, batch, head, j, c);
  return at < p_.k.size ? p_.k.data[at] : 0;
}

float NaiveAttention::value(Index b, Index h, Index j, Index c) const { return p_.v.at(kv_batch(b), kv_head(h), j, c); }

}  // namespace mutants
