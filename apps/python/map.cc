// One head of arrays, its picture, a part of it, a row of it.
#include "apps/python/map.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "apps/python/execution.h"
#include "apps/python/numpy_arrays.h"
#include "qkv/map.h"
#include "src/core/four_axes.h"
#include "src/survey/head_slice.h"
#include "src/survey/survey_call.h"

namespace qkv::python {
namespace {

// q and k [B,H,T,D] with what was given, and the head that is meant. Stays where it is.
class Head {
 public:
  Head(nb::tuple inputs, nb::tuple options)
      : given(options),
        q_("q", inputs[0]),
        k_("k", inputs[1]),
        layout_(read_layout(given)),
        read_(given, query_of(q_.view, layout_)) {
    AttentionInputs all{with_four_axes(q_.view, layout_), with_four_axes(k_.view, layout_), {}};
    all.v = all.k.shape.rank() == kMaxRank ? narrow_values(all.k) : all.k;
    const Result<AttentionShape> shape = check_attention(all, read_.get(), TypeRule::kSameType);
    raise_if_error(shape.status());
    const std::int64_t batch = index("batch", inputs[2], shape->batch);
    slice_ = std::make_unique<HeadSlice>(all, read_.get(), batch, index("head", inputs[3], shape->query_heads));
  }

  MapInputs inputs() const { return {slice_->inputs.q, slice_->inputs.k}; }
  const AttentionOptions& options() const { return slice_->options; }
  double flops() const {
    return 2.0 * static_cast<double>(element_count(slice_->inputs.q.shape)) *
           static_cast<double>(slice_->inputs.k.shape[2]);
  }
  const Options given;

 private:
  static std::int64_t index(const char* name, nb::handle value, std::int64_t count) {
    const std::int64_t found = as_integer(name, value);
    if (found < 0 || found >= count)
      raise_if_error(invalid_argument("map: " + std::string(name) + " is " + std::to_string(found) +
                                      "; expected 0 to " + std::to_string(count - 1)));
    return found;
  }

  const Input q_, k_;
  const Layout layout_;
  const ReadOptions read_;
  std::unique_ptr<HeadSlice> slice_;
};

nb::object array_of(const std::vector<double>& values) {
  View<void> memory;
  nb::object array = new_numpy(DType::kF64, {static_cast<std::int64_t>(values.size())}, nb::none(), memory);
  std::ranges::copy(values, static_cast<double*>(memory.data));
  return array;
}

nb::object array_of(const Tensor& tensor) {
  View<void> memory;
  nb::object array = new_numpy(tensor.dtype(), tensor.shape(), nb::none(), memory);
  std::memcpy(memory.data, tensor.view().data, static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype()));
  return array;
}

}  // namespace

nb::dict map_overview(nb::tuple inputs, nb::tuple options) {
  const Head head(inputs, options);
  const std::int64_t pixels = as_integer("pixels", inputs[4]);
  Overview found;
  raise_outcome(run(head.flops(), read_execution(head.given), [&](const Execution& execution) -> Status {
    Result<Overview> overview = qkv::map_overview(head.inputs(), head.options(), {.pixels = pixels}, execution);
    if (overview.is_ok()) found = std::move(overview).value();
    return overview.status();
  }));
  nb::dict out;
  out["step"] = found.step;
  out["max"] = array_of(found.max);
  out["mean"] = array_of(found.mean);
  out["lse"] = array_of(found.lse);
  out["entropy"] = array_of(found.entropy);
  out["largest"] = array_of(found.largest);
  return out;
}

nb::tuple map_tile(nb::tuple inputs, nb::tuple options) {
  const Head head(inputs, options);
  const std::vector<double> lse = as_numbers("lse", inputs[4]);
  const MapTile tile{as_integer("row", inputs[5]), as_integer("column", inputs[6]), as_integer("step", inputs[7]),
                     as_integer("height", inputs[8]), as_integer("width", inputs[9])};
  for (const auto& [name, extent] : {std::pair("height", tile.height), std::pair("width", tile.width)})
    if (extent < 1)
      raise_if_error(
          invalid_argument("map: " + std::string(name) + " is " + std::to_string(extent) + "; expected at least 1"));
  View<void> max, mean;
  const nb::object max_array = new_numpy(DType::kF32, {tile.height, tile.width}, nb::none(), max);
  const nb::object mean_array = new_numpy(DType::kF32, {tile.height, tile.width}, nb::none(), mean);
  raise_outcome(run(head.flops(), read_execution(head.given), [&](const Execution& execution) {
    return qkv::map_tile(head.inputs(), lse, tile, {max.as<float>(), mean.as<float>()}, head.options(), execution);
  }));
  return nb::make_tuple(max_array, mean_array);
}

nb::dict map_row(nb::tuple inputs, nb::tuple options) {
  const Head head(inputs, options);
  const Result<MapRow> row =
      qkv::map_row(head.inputs(), as_integer("row", inputs[4]), as_integer("top", inputs[5]), head.options());
  raise_if_error(row.status());
  nb::dict out;
  out["lse"] = row->lse;
  out["entropy"] = row->entropy;
  out["allowed"] = static_cast<std::int64_t>(row->allowed);
  out["sink"] = row->sink;
  nb::list keys, products;
  for (const std::int64_t key : row->keys) keys.append(key);
  for (const std::vector<double>& each : row->products) products.append(array_of(each));
  out["keys"] = keys;
  out["weights"] = array_of(row->weights);
  out["cumulative"] = array_of(row->cumulative);
  out["scores"] = array_of(row->scores);
  out["products"] = products;
  return out;
}

}  // namespace qkv::python
