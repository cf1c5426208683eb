// One row of a map in float64, with the products behind its scores.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "qkv/map.h"
#include "qkv/reference.h"
#include "src/core/check_attention.h"
#include "src/core/positions.h"
#include "src/core/status_macros.h"
#include "src/survey/row_slice.h"
#include "src/survey/survey_call.h"

namespace qkv {
namespace {

// scale · q_d k_d of one key.
std::vector<double> products_of(const View<const void>& q, const View<const void>& k, std::int64_t key, double scale) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(q.shape[3]));
  for (std::int64_t c = 0; c < q.shape[3]; ++c)
    out.push_back(scale * element_as_double(q, c * q.strides[3]) *
                  element_as_double(k, key * k.strides[2] + c * k.strides[3]));
  return out;
}

}  // namespace

Result<MapRow> map_row(const MapInputs& inputs, std::int64_t row, std::int64_t top, const AttentionOptions& options) {
  if (inputs.k.shape.rank() != kMaxRank)
    return shape_mismatch("map: k is " + to_string(inputs.k.shape) + "; expected [1,1,Tk,D]");
  const AttentionInputs tensors{inputs.q, inputs.k, narrow_values(inputs.k)};
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(tensors, options, TypeRule::kAnyFloating));
  if (shape.batch != 1 || shape.query_heads != 1)
    return shape_mismatch("map: q is " + to_string(inputs.q.shape) + "; expected one batch entry and one head");
  if (row < 0 || row >= shape.query_length)
    return invalid_argument("map: row " + std::to_string(row) + " is none of " + std::to_string(shape.query_length));
  const Positions positions(shape, options);
  const RowSlice slice(tensors, options, positions.sequence_of(0, row), 0, row);
  Trace trace;
  QKV_RETURN_IF_ERROR(reference::attention_forward(slice.inputs, slice.options, &trace).status());
  const double* p = trace.find("p")->values.data<double>();
  const double* masked = trace.find("masked")->values.data<double>();
  const std::int64_t keys = slice.inputs.k.shape[2];

  MapRow out;
  out.lse = trace.find("lse")->values.data<double>()[0];
  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (masked[j] == -std::numeric_limits<double>::infinity()) continue;
    out.allowed += 1;
    if (p[j] > 0) out.entropy -= p[j] * std::log(p[j]);
    order.push_back(j);
  }
  if (!options.sinks.empty()) out.sink = std::exp(options.sinks[0] - out.lse);
  const auto kept = std::min<std::ptrdiff_t>(std::max<std::int64_t>(top, 0), std::ssize(order));
  std::ranges::partial_sort(order, order.begin() + kept,
                            [&](std::int64_t a, std::int64_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  const double scale = resolve_scale(shape, options);
  for (std::ptrdiff_t n = 0; n < kept; ++n) {
    const std::int64_t key = order[static_cast<std::size_t>(n)];
    out.keys.push_back(key + slice.first_key);
    out.weights.push_back(p[key]);
    out.cumulative.push_back(p[key] + (n > 0 ? out.cumulative.back() : 0));
    out.products.push_back(products_of(slice.inputs.q, slice.inputs.k, key, scale));
    out.scores.push_back(std::accumulate(out.products.back().begin(), out.products.back().end(), 0.0));
  }
  return out;
}

}  // namespace qkv
