// Views and options cut to one row.
#include "src/survey/row_slice.h"

#include "src/core/positions.h"
#include "src/survey/axis_slice.h"

namespace qkv {
namespace {

// The part of a mask or bias that one query and its keys read. Shapes: broadcast from the right.
View<const void> slice_scores(View<const void> view, std::int64_t batch, std::int64_t row, const Sequence& keys) {
  const int rank = view.shape.rank();
  if (rank >= 1) view = axis_slice(view, rank - 1, keys.key_begin, keys.key_end - keys.key_begin);
  if (rank >= 2) view = axis_slice(view, rank - 2, row, 1);
  if (rank == 4) view = axis_slice(view, 0, batch, 1);
  return view;
}

// The options of a call for one row of it.
AttentionOptions of_row(const AttentionOptions& options, std::int64_t batch, std::int64_t row,
                        const Sequence& sequence) {
  AttentionOptions out = options;
  out.key_lengths = out.cu_seqlens_q = out.cu_seqlens_k = {};
  if (options.causality == Causality::kCausal || options.window != Window{} || !options.slopes.empty()) {
    out.corner = Corner::kOffset;
    out.offset = Positions::position(sequence, row) - sequence.key_begin;
  }
  if (out.keep.is_present()) out.keep = slice_scores(out.keep, batch, row, sequence);
  if (out.bias.is_present()) out.bias = slice_scores(out.bias, batch, row, sequence);
  if (out.key_mask.is_present())
    out.key_mask =
        axis_slice(axis_slice(out.key_mask, 0, batch, 1), 1, sequence.key_begin, sequence.key_end - sequence.key_begin);
  return out;
}

}  // namespace

RowSlice::RowSlice(const AttentionInputs& all, const AttentionOptions& given, const Sequence& sequence,
                   std::int64_t batch, std::int64_t row)
    : inputs(all), options(of_row(given, batch, row, sequence)), first_key(sequence.key_begin) {
  const auto cut = [&](View<const void>& view, std::int64_t token, std::int64_t tokens) {
    const std::int64_t offset = batch * view.strides[0] + token * view.strides[2];
    view.data = static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
    view.shape[0] = 1;
    view.shape[2] = tokens;
  };
  cut(inputs.q, row, 1);
  cut(inputs.k, sequence.key_begin, sequence.key_end - sequence.key_begin);
  cut(inputs.v, sequence.key_begin, sequence.key_end - sequence.key_begin);
}

}  // namespace qkv
