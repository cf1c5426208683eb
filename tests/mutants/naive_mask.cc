// Which keys the naive implementation lets a query see, and what it adds to a score.
#include <algorithm>
#include <cmath>

#include "tests/mutants/naive_attention.h"

namespace mutants {

using Index = std::int64_t;

namespace {

// [Tq,Tk] with its axes exchanged: its memory as [Tk,Tq], or, where an axis broadcasts, along the other one.
template <class T>
T exchanged(const Strided<T>& array, Index b, Index h, Index i, Index j, Index queries, Index keys) {
  if (array.strides[2] == 0 || array.strides[3] == 0) return array.at(b, h, j % queries, i % keys);
  const Index flat = j * queries + i;
  return array.at(b, h, flat / keys, flat % keys);
}

}  // namespace

NaiveAttention::Rows NaiveAttention::rows_of(Index b, Index i) const {
  Index query_begin = 0;
  Index query_end = p_.queries;
  Rows rows{0, 0, p_.keys};
  if (!p_.lengths.empty() && !edits_.has(Edit::kLengthsIgnored)) rows.key_end = p_.lengths[static_cast<std::size_t>(b)];
  if (!p_.starts_q.empty()) {
    std::size_t s = 0;
    while (i >= p_.starts_q[s + 1]) ++s;
    query_begin = p_.starts_q[s];
    query_end = p_.starts_q[s + 1];
    rows.key_begin = p_.starts_k[s];
    rows.key_end = p_.starts_k[s + 1];
  }
  From corner = p_.corner;
  if (edits_.has(Edit::kTopLeftAlways)) corner = From::kTopLeft;
  if (edits_.has(Edit::kBottomRightAlways)) corner = From::kBottomRight;
  Index shift = 0;
  if (corner == From::kOffset) shift = p_.offset;
  if (corner == From::kBottomRight) shift = (rows.key_end - rows.key_begin) - (query_end - query_begin);
  rows.position = rows.key_begin + (i - query_begin) + shift;
  if (edits_.has(Edit::kPackLeaks) && !p_.starts_k.empty()) {
    rows.key_begin = 0;
    rows.key_end = p_.keys;
  }
  return rows;
}

bool NaiveAttention::causal_applies() const {
  if (!p_.causal || edits_.has(Edit::kCausalIgnored)) return false;
  if (!edits_.has(Edit::kCausalIgnoredWith)) return true;
  switch (edits_.whole(Edit::kCausalIgnoredWith)) {
    case Beside::kMask: return p_.keep.data == nullptr && p_.key_mask.data == nullptr;
    case Beside::kBias: return p_.bias.data == nullptr;
    case Beside::kWindow: return p_.left < 0 && p_.right < 0;
    case Beside::kSoftcap: return !p_.softcap;
    case Beside::kSinks: return p_.sinks.empty();
    case Beside::kLengths: return p_.lengths.empty();
    default: return p_.heads == p_.kv_heads;
  }
}

bool NaiveAttention::by_position(const Rows& rows, Index i, Index j) const {
  Index last = rows.position;
  if (const Index block = edits_.whole(Edit::kCausalPerBlock); block > 0) {  // the limit of the block's last row
    const Index last_row = std::min((i / block + 1) * block, p_.queries) - 1;
    last += last_row - i;
  }
  if (edits_.has(Edit::kOneAhead)) ++last;
  bool is_past = edits_.has(Edit::kStrictlyBelow) ? j >= last : j > last;
  if (edits_.has(Edit::kFirstRowFree) && i == 0) is_past = false;
  if (causal_applies() && is_past) return false;
  if (edits_.has(Edit::kWindowIgnored)) return true;
  if (edits_.has(Edit::kWindowIgnoredAlone) && !p_.causal && p_.keep.data == nullptr && p_.key_mask.data == nullptr)
    return true;
  if (p_.left >= 0 && !edits_.has(Edit::kLeftOpen))
    if (j < rows.position - (p_.left + edits_.whole(Edit::kLeftOff))) return false;
  if (p_.right >= 0 && !edits_.has(Edit::kRightOpen))
    if (j > rows.position + p_.right + edits_.whole(Edit::kRightOff)) return false;
  return true;
}

bool NaiveAttention::mask_says(Index b, Index h, Index i, Index j) const {
  Index batch = b;
  if (edits_.has(Edit::kMaskBatchTiled)) batch = (b * p_.heads + h) % p_.batch;  // mask.repeat(heads, 1, 1)
  const bool keep = (edits_.has(Edit::kMaskTransposed) ? exchanged(p_.keep, batch, h, i, j, p_.queries, p_.keys)
                                                       : p_.keep.at(batch, h, i, j)) != 0;
  return edits_.has(Edit::kMaskInverted) && edits_.whole(Edit::kMaskInverted) != 2 ? !keep : keep;
}

bool NaiveAttention::key_mask_says(Index b, Index h, Index i, Index j) const {
  Index batch = b;
  if (edits_.has(Edit::kMaskBatchTiled)) batch = (b * p_.heads + h) % p_.batch;
  const Index key = edits_.has(Edit::kKeyMaskHidesQueries) ? i % p_.keys : j;
  const bool keep = p_.key_mask.at(batch, 0, 0, key) != 0;
  return edits_.has(Edit::kMaskInverted) && edits_.whole(Edit::kMaskInverted) != 1 ? !keep : keep;
}

bool NaiveAttention::visible(Index b, Index h, Index i, Index j) const {
  const Rows rows = rows_of(b, i);
  if (j < rows.key_begin || j >= rows.key_end) return false;
  if (const Index tile = edits_.whole(Edit::kLastKeysDropped); tile > 0 && j >= p_.keys - p_.keys % tile) return false;
  if (!by_position(rows, i, j)) return false;
  if (edits_.has(Edit::kMaskAdded)) return true;
  const bool reads_mask = p_.keep.data != nullptr && !edits_.has(Edit::kMaskIgnored) &&
                          !(edits_.has(Edit::kMaskIgnoredIfCausal) && p_.causal);
  if (reads_mask && !mask_says(b, h, i, j)) return false;
  return p_.key_mask.data == nullptr || edits_.has(Edit::kKeyMaskIgnored) || key_mask_says(b, h, i, j);
}

// What stands beside scale · q·k, but for the scale.
float NaiveAttention::bias(Index b, Index h, Index i, Index j) const {
  if (p_.bias.data == nullptr || edits_.has(Edit::kBiasIgnored)) return 0;
  Index head = h;
  if (edits_.has(Edit::kBiasHeadsReversed)) head = p_.heads - 1 - h;
  if (edits_.has(Edit::kBiasFirstHead)) head = 0;
  if (edits_.has(Edit::kBiasKvHead)) head = h / (p_.heads / p_.kv_heads);
  if (edits_.has(Edit::kBiasTransposed)) return exchanged(p_.bias, b, head, i, j, p_.queries, p_.keys);
  return p_.bias.at(b, head, i, j);
}

}  // namespace mutants
