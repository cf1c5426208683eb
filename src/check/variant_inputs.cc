// Reads q, k and v as an implementation would that mistakes their memory or their order.
#include "src/check/variant_inputs.h"

#include <utility>

#include "src/ops/attention/attention_ref_row.h"

namespace qkv::check {
namespace {

// Whether the view's memory holds as many numbers, from its first on, as a contiguous tensor of its shape would.
bool could_be_contiguous(const View<const void>& view) {
  std::int64_t last = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] == 0) return false;
    last += (view.shape[axis] - 1) * view.strides[axis];
  }
  return last + 1 >= element_count(view.shape);
}

std::vector<double> memory_in_order(const View<const void>& view) {
  if (!could_be_contiguous(view)) return elements_in_order(view);
  std::vector<double> values(static_cast<std::size_t>(element_count(view.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as_double(view, static_cast<std::int64_t>(i));
  return values;
}

std::vector<double> read(const View<const void>& view, bool ignores_strides, const MistakeSet& mistakes) {
  std::vector<double> values = ignores_strides ? memory_in_order(view) : elements_in_order(view);
  if (!mistakes.has(MistakeId::kHeadsSplitWrong)) return values;
  const Dims& shape = view.shape;  // the memory of [B,H,T,D] taken for [B,T,H,D]
  return axes_exchanged(values, {shape[0], shape[2], shape[1], shape[3]});
}

}  // namespace

std::vector<double> elements_in_order(View<const void> view) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(element_count(view.shape)));
  for (std::int64_t a = 0; a < view.shape[0]; ++a)
    for (std::int64_t b = 0; b < view.shape[1]; ++b)
      for (std::int64_t c = 0; c < view.shape[2]; ++c)
        for (std::int64_t d = 0; d < view.shape[3]; ++d) values.push_back(reference::element_at(view, a, b, c, d));
  return values;
}

std::vector<double> axes_exchanged(const std::vector<double>& values, const Dims& shape) {
  std::vector<double> exchanged;
  exchanged.reserve(values.size());
  const auto at = [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) {
    return values[static_cast<std::size_t>(((b * shape[1] + h) * shape[2] + t) * shape[3] + c)];
  };
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t t = 0; t < shape[2]; ++t)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (std::int64_t c = 0; c < shape[3]; ++c) exchanged.push_back(at(b, h, t, c));
  return exchanged;
}

VariantInputs read_inputs(const AttentionShape& shape, const AttentionInputs& inputs, const MistakeSet& mistakes) {
  const std::int64_t ignored = mistakes.parameter(MistakeId::kStridesIgnored);
  VariantInputs read_as;
  read_as.q = read(inputs.q, (ignored & 1) != 0, mistakes);
  read_as.k = read(inputs.k, (ignored & 2) != 0, mistakes);
  read_as.v = read(inputs.v, (ignored & 4) != 0, mistakes);
  const bool same_heads = shape.query_heads == shape.kv_heads && shape.query_length == shape.key_length;
  if (mistakes.has(MistakeId::kQueryKeySwapped) && same_heads) std::swap(read_as.q, read_as.k);
  if (mistakes.has(MistakeId::kKeyValueSwapped) && shape.width == shape.value_width) std::swap(read_as.k, read_as.v);
  return read_as;
}

double dot_padded(const std::vector<double>& q, std::int64_t q_at, const std::vector<double>& k, std::int64_t k_at,
                  std::int64_t width) {
  const auto entry = [](const std::vector<double>& values, std::int64_t at) {
    return at < static_cast<std::int64_t>(values.size()) ? values[static_cast<std::size_t>(at)] : 0.0;
  };
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += entry(q, q_at + c) * entry(k, k_at + c);
  return sum;
}

}  // namespace qkv::check
