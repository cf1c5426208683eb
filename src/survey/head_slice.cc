// Views cut along batch and head; what is broadcast stays.
#include "src/survey/head_slice.h"

#include "src/survey/axis_slice.h"

namespace qkv {
namespace {

// A mask or bias that is broadcast from the right to [B,Hq,Tq,Tk].
View<const void> of_head(View<const void> view, std::int64_t batch, std::int64_t head) {
  const int rank = view.shape.rank();
  if (rank >= 3) view = axis_slice(view, rank - 3, head, 1);
  if (rank == 4) view = axis_slice(view, 0, batch, 1);
  return view;
}

}  // namespace

HeadSlice::HeadSlice(const AttentionInputs& all, const AttentionOptions& given, std::int64_t batch, std::int64_t head)
    : inputs(all), options(given) {
  const std::int64_t group = all.q.shape[1] / all.k.shape[1];
  inputs.q = axis_slice(axis_slice(all.q, 0, batch, 1), 1, head, 1);
  inputs.k = axis_slice(axis_slice(all.k, 0, batch, 1), 1, head / group, 1);
  if (all.v.is_present()) inputs.v = axis_slice(axis_slice(all.v, 0, batch, 1), 1, head / group, 1);
  if (given.keep.is_present()) options.keep = of_head(given.keep, batch, head);
  if (given.bias.is_present()) options.bias = of_head(given.bias, batch, head);
  if (given.key_mask.is_present()) options.key_mask = axis_slice(given.key_mask, 0, batch, 1);
  if (!given.key_lengths.empty()) {
    key_length_ = {given.key_lengths[static_cast<std::size_t>(batch)]};
    options.key_lengths = key_length_;
  }
  if (!given.slopes.empty()) {
    slope_ = {given.slopes[static_cast<std::size_t>(head)]};
    options.slopes = slope_;
  }
  if (!given.sinks.empty()) {
    sink_ = {given.sinks[static_cast<std::size_t>(head)]};
    options.sinks = sink_;
  }
}

}  // namespace qkv
