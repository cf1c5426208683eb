// Masks, biases and slopes of a block of keys, row by row.
#include "src/ops/attention/decode_terms.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace qkv {
namespace {

// One row of the scores and what stands in front of it in each mask.
class Row {
 public:
  Row(const DecodeCall& call, const DecodeTask& task, std::int64_t row)
      : call_(call),
        slopes_(call.options.slopes),
        query_(row / call.shape.group()),
        head_(task.kv_head * call.shape.group() + row % call.shape.group()),
        position_(Positions::position(task.sequence, query_)) {
    keep_ = offset(call.keep, task.batch);
    bias_ = offset(call.bias, task.batch);
    const View<const void>& mask = call.options.key_mask;
    key_mask_ = mask.is_present() ? task.batch * mask.strides[0] : 0;
  }

  // Whether the mask tensors let the row see a key; `bias` becomes what is added to its score then.
  bool sees(std::int64_t key, double& bias) const {
    const View<const void>& mask = call_.options.key_mask;
    if (mask.is_present() && bytes(mask)[key_mask_ + key * mask.strides[1]] == 0) return false;
    if (call_.keep.is_present() && bytes(call_.keep)[keep_ + key * call_.keep.strides[3]] == 0) return false;
    bias = call_.bias.is_present() ? element_as_double(call_.bias, bias_ + key * call_.bias.strides[3]) : 0;
    if (bias == -std::numeric_limits<double>::infinity()) return false;
    if (!slopes_.empty())
      bias -= slopes_[static_cast<std::size_t>(head_)] * static_cast<double>(std::abs(position_ - key));
    return true;
  }

 private:
  std::int64_t offset(const View<const void>& view, std::int64_t batch) const {
    if (!view.is_present()) return 0;
    return batch * view.strides[0] + head_ * view.strides[1] + query_ * view.strides[2];
  }
  static const std::uint8_t* bytes(const View<const void>& view) { return static_cast<const std::uint8_t*>(view.data); }

  const DecodeCall& call_;
  std::span<const double> slopes_;
  std::int64_t query_, head_, position_;
  std::int64_t keep_ = 0, bias_ = 0, key_mask_ = 0;
};

// Only -inf in a bias hides: a finite value stays finite in C.
template <class C>
C held_finite(double value) {
  constexpr double kLargest = std::numeric_limits<C>::max();
  return static_cast<C>(std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : value);
}

}  // namespace

template <class C>
Visibility decode_terms(const DecodeCall& call, const DecodeTask& task, const RowGroup& group, const KeyBlock& block,
                        const ScoreLayout& layout, C* allowed, C* added) {
  const bool inside = std::all_of(group.ranges, group.ranges + group.row_count, [&](const KeyRange& range) {
    return range.begin <= block.within.begin && block.within.end <= range.end;
  });
  const bool tensors = call.options.key_mask.is_present() || call.keep.is_present() || call.bias.is_present();
  if (inside && !tensors && call.options.slopes.empty()) return Visibility::kAll;
  const auto count = static_cast<std::int64_t>(block.keys.size());
  std::fill_n(allowed, layout.size(count), C{0});
  std::fill_n(added, layout.size(count), C{0});
  std::int64_t seen = 0;
  for (std::int64_t r = 0; r < group.row_count; ++r) {
    const Row row(call, task, group.row_begin + r);
    const KeyRange range = group.ranges[r];
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t key = block.keys[static_cast<std::size_t>(j)];
      double bias = 0;
      if (key < range.begin || key >= range.end || !row.sees(key, bias)) continue;
      allowed[layout.index(r, j)] = C{1};
      added[layout.index(r, j)] = held_finite<C>(bias);
      ++seen;
    }
  }
  return seen == 0 ? Visibility::kNone : seen == group.row_count * count ? Visibility::kAll : Visibility::kSome;
}

template Visibility decode_terms(const DecodeCall&, const DecodeTask&, const RowGroup&, const KeyBlock&,
                                 const ScoreLayout&, float*, float*);
template Visibility decode_terms(const DecodeCall&, const DecodeTask&, const RowGroup&, const KeyBlock&,
                                 const ScoreLayout&, double*, double*);

}  // namespace qkv
