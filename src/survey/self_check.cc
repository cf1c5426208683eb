// One row at a time: the keys that its sequence has, and where it stands among them.
#include "src/survey/self_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "src/core/positions.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

// Elements [begin, begin + count) of an axis; an axis of extent 1 is broadcast and stays.
View<const void> slice(View<const void> view, int axis, std::int64_t begin, std::int64_t count) {
  if (view.shape[axis] == 1) return view;
  const auto* data = static_cast<const char*>(view.data);
  view.data = data + begin * view.strides[axis] * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[axis] = count;
  return view;
}

// The part of a mask or bias that one query and its keys read. Shapes: broadcast from the right.
View<const void> slice_scores(View<const void> view, std::int64_t batch, std::int64_t row, const Sequence& keys) {
  const int rank = view.shape.rank();
  if (rank >= 1) view = slice(view, rank - 1, keys.key_begin, keys.key_end - keys.key_begin);
  if (rank >= 2) view = slice(view, rank - 2, row, 1);
  if (rank == 4) view = slice(view, 0, batch, 1);
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
        slice(slice(out.key_mask, 0, batch, 1), 1, sequence.key_begin, sequence.key_end - sequence.key_begin);
  return out;
}

double difference(double found, double want) {
  if (std::isnan(found) && std::isnan(want)) return 0;
  if (found == want) return 0;  // infinities too
  const double error = std::fabs(found - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

Result<std::vector<double>> worst_differences(const AttentionInputs& inputs, const View<const void>& o,
                                              std::span<const std::int64_t> rows, const AttentionOptions& options,
                                              const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  const Dims expected{shape.batch, shape.query_heads, static_cast<std::int64_t>(rows.size()), shape.value_width};
  if (!(o.shape == expected) || !is_floating(o.dtype))
    return shape_mismatch("survey: o is " + to_string(o.shape) + " " + std::string(to_string(o.dtype)) + "; expected " +
                          to_string(expected) + " of a floating type");
  const DType type = inputs.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  QKV_ASSIGN_OR_RETURN(Tensor memory, Tensor::zeros(type, {1, shape.query_heads, 1, shape.value_width}));
  const Positions positions(shape, options);
  std::vector<double> worst(static_cast<std::size_t>(shape.batch * shape.query_heads));
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r] < 0 || rows[r] >= shape.query_length)
        return shape_mismatch("survey: row " + std::to_string(rows[r]) + " is none of " +
                              std::to_string(shape.query_length) + " queries");
      const Sequence sequence = positions.sequence_of(batch, rows[r]);
      const std::int64_t keys = sequence.key_end - sequence.key_begin;
      const auto keys_of = [&](const View<const void>& view) {
        View<const void> out = view;
        const auto* data = static_cast<const char*>(view.data);
        out.data = data + (batch * view.strides[0] + sequence.key_begin * view.strides[2]) *
                              static_cast<std::int64_t>(size_of(view.dtype));
        out.shape[0] = 1;
        out.shape[2] = keys;
        return out;
      };
      View<const void> q = inputs.q;
      q.data = static_cast<const char*>(q.data) +
               (batch * q.strides[0] + rows[r] * q.strides[2]) * static_cast<std::int64_t>(size_of(q.dtype));
      q.shape[0] = q.shape[2] = 1;
      QKV_RETURN_IF_ERROR(attention_forward({q, keys_of(inputs.k), keys_of(inputs.v)}, {memory.view(), {}},
                                            of_row(options, batch, rows[r], sequence), execution)
                              .status());
      for (std::int64_t head = 0; head < shape.query_heads; ++head) {
        double& most = worst[static_cast<std::size_t>(batch * shape.query_heads + head)];
        for (std::int64_t c = 0; c < shape.value_width; ++c) {
          const std::int64_t at = batch * o.strides[0] + head * o.strides[1] +
                                  static_cast<std::int64_t>(r) * o.strides[2] + c * o.strides[3];
          most = std::max(most, difference(element_as_double(memory.view(), head * shape.value_width + c),
                                           element_as_double(o, at)));
        }
      }
    }
  return worst;
}

}  // namespace qkv
