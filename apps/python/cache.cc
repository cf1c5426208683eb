// The lengths are numbers of the library's own during a call, so that int32 and strided arrays are right too.
#include "apps/python/cache.h"

#include <string>
#include <type_traits>

#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

// Calls use(number) with every entry of an array of int32 or int64 with one axis.
template <class Use>
void each_entry(const View<void>& array, Use use) {
  for (std::int64_t i = 0; i < array.shape[0]; ++i) {
    if (array.dtype == DType::kI64)
      use(array.as<std::int64_t>()(i));
    else
      use(array.as<std::int32_t>()(i));
  }
}

}  // namespace

Cache::Cache(nb::tuple fields, Layout layout)
    : k_("cache.k", fields[0]),
      v_("cache.v", fields[1]),
      lengths_array_("cache.lengths", fields[2]),
      block_table_(Input::optional("cache.block_table", fields[3])) {
  const View<void>& lengths = lengths_array_.view();
  const bool whole = lengths.dtype == DType::kI64 || lengths.dtype == DType::kI32;
  if (!whole || lengths.shape.rank() != 1)
    throw nb::type_error(("cache.lengths is " + std::string(to_string(lengths.dtype)) + " " + to_string(lengths.shape) +
                          "; expected an array [B] of int64 or int32")
                             .c_str());
  each_entry(lengths, [&](const auto& entry) { lengths_.push_back(entry); });
  view_ = {with_four_axes(k_.view(), layout), with_four_axes(v_.view(), layout), block_table_.view, lengths_};
}

double Cache::flops(std::int64_t query_rows) const {
  double tokens = 0;
  for (const std::int64_t length : lengths_) tokens += static_cast<double>(length);
  const Dims& k = view_.k.shape;
  return k.rank() == kMaxRank ? 4 * tokens * static_cast<double>(query_rows) * static_cast<double>(k[3]) : 0;
}

void Cache::write_lengths() {
  std::size_t i = 0;
  each_entry(lengths_array_.view(),
             [&](auto& entry) { entry = static_cast<std::remove_reference_t<decltype(entry)>>(lengths_[i++]); });
}

}  // namespace qkv::python
