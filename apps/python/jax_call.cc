// Buffers and attributes of XLA to views and options.
#if QKV_HAS_JAX
#include "apps/python/jax_call.h"

#include <algorithm>
#include <array>
#include <optional>

#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

namespace ffi = xla::ffi;

std::optional<DType> dtype_of_xla(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F64: return DType::kF64;
    case ffi::DataType::F32: return DType::kF32;
    case ffi::DataType::BF16: return DType::kBF16;
    case ffi::DataType::F16: return DType::kF16;
    case ffi::DataType::PRED: return DType::kBool;
    case ffi::DataType::U8: return DType::kU8;
    case ffi::DataType::S32: return DType::kI32;
    case ffi::DataType::S64: return DType::kI64;
    default: return std::nullopt;
  }
}

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    parts.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return parts;
}

// `leading`: how many axes vmap has put before it.
ffi::ErrorOr<JaxBuffer> read_buffer(std::string name, const ffi::AnyBuffer& given, std::size_t leading) {
  const auto dims = given.dimensions();
  const std::optional<DType> dtype = dtype_of_xla(given.element_type());
  if (!dtype || dims.size() < leading || dims.size() > leading + kMaxRank)
    return ffi::Unexpected(ffi::Error::InvalidArgument("qkv: " + name + " has a type or a rank that no call has"));
  JaxBuffer buffer{std::move(name), static_cast<std::byte*>(given.untyped_data()), *dtype, {}, {}};
  buffer.leading.assign(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(leading));
  for (std::size_t axis = leading; axis < dims.size(); ++axis) buffer.shape.push_back(dims[axis]);
  return buffer;
}

const JaxBuffer* find(const std::vector<JaxBuffer>& buffers, std::string_view name) {
  const auto found = std::find_if(buffers.begin(), buffers.end(), [&](const auto& one) { return one.name == name; });
  return found == buffers.end() ? nullptr : &*found;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_activation(std::string_view name) { return is_one_of(name, {"q", "k", "v", "o", "d_o", "dq", "dk", "dv"}); }
bool is_statistic(std::string_view name) { return is_one_of(name, {"lse", "d_lse"}); }

template <class T>
std::optional<T> given(const ffi::Dictionary& attributes, std::string_view name) {
  if (!attributes.contains(name)) return std::nullopt;
  const ffi::ErrorOr<T> value = attributes.get<T>(name);
  return value ? std::optional<T>(*value) : std::nullopt;
}

AttentionOptions read_options(const ffi::Dictionary& attributes) {
  AttentionOptions options;
  options.scale = given<double>(attributes, "scale");
  options.softcap = given<double>(attributes, "softcap");
  if (given<bool>(attributes, "causal").value_or(false)) options.causality = Causality::kCausal;
  const std::string_view corner = given<std::string_view>(attributes, "corner").value_or("");
  if (corner == "top_left") options.corner = Corner::kTopLeft;
  if (corner == "bottom_right") options.corner = Corner::kBottomRight;
  if (const auto offset = given<std::int64_t>(attributes, "offset")) {
    options.corner = Corner::kOffset;
    options.offset = *offset;
  }
  if (const auto window = given<ffi::Span<const std::int64_t>>(attributes, "window"))
    options.window = {(*window)[0], (*window)[1]};
  return options;
}

}  // namespace

ffi::ErrorOr<JaxCall> JaxCall::read(ffi::RemainingArgs arguments, ffi::RemainingRets results,
                                    ffi::Dictionary attributes) {
  JaxCall call;
  const std::vector<std::string> operands = split(given<std::string_view>(attributes, "operands").value_or(""));
  const std::vector<std::string> wanted = split(given<std::string_view>(attributes, "results").value_or(""));
  const std::int64_t rank = given<std::int64_t>(attributes, "rank").value_or(0);
  const auto first = std::find(operands.begin(), operands.end(), "q");
  if (operands.size() != arguments.size() || wanted.size() != results.size() || first == operands.end())
    return ffi::Unexpected(
        ffi::Error::InvalidArgument("qkv: this handler is called by qkv.jax of the same version only"));
  const ffi::ErrorOr<ffi::AnyBuffer> q =
      arguments.get<ffi::AnyBuffer>(static_cast<std::size_t>(first - operands.begin()));
  if (!q) return ffi::Unexpected(q.error());
  const std::size_t leading = q->dimensions().size() - static_cast<std::size_t>(rank);
  const auto add = [&](std::vector<JaxBuffer>& to, const std::string& name, const ffi::AnyBuffer& buffer) {
    ffi::ErrorOr<JaxBuffer> read = read_buffer(name, buffer, leading);
    if (!read) return read.error();
    to.push_back(*std::move(read));
    return ffi::Error::Success();
  };
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (ffi::Error error = add(call.inputs_, operands[i], *arguments.get<ffi::AnyBuffer>(i)); error.failure())
      return ffi::Unexpected(error);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (ffi::Error error = add(call.outputs_, wanted[i], **results.get<ffi::AnyBuffer>(i)); error.failure())
      return ffi::Unexpected(error);

  call.extents_ = call.outputs_.front().leading;
  call.has_batch_ = rank == kMaxRank;
  call.layout_ = given<std::string_view>(attributes, "layout") == "bthd" ? Layout::kBTHD : Layout::kBHTD;
  call.options_ = read_options(attributes);
  if (const auto slopes = given<ffi::Span<const double>>(attributes, "slopes"))
    call.slopes_.assign(slopes->begin(), slopes->end());
  call.threads_ = static_cast<int>(given<std::int64_t>(attributes, "threads").value_or(0));
  for (const std::int64_t extent : call.extents_) call.repeats_ *= extent;
  call.fold();
  return call;
}

// Where every buffer has all of vmap's axes and a batch axis, they are a larger batch.
void JaxCall::fold() {
  const auto is_whole = [&](const JaxBuffer& buffer) {
    return (is_activation(buffer.name) || is_statistic(buffer.name)) && buffer.leading == extents_;
  };
  if (!std::all_of(inputs_.begin(), inputs_.end(), is_whole) ||
      !std::all_of(outputs_.begin(), outputs_.end(), is_whole))
    return;
  folded_ = repeats_;
  repeats_ = std::min<std::int64_t>(repeats_, 1);
}

View<const void> JaxCall::view_of(const JaxBuffer& buffer, std::int64_t repeat) const {
  const std::int64_t elements = element_count(buffer.shape);
  std::int64_t place = 0, step = 1;
  for (std::size_t axis = extents_.size(); axis-- > 0; repeat /= extents_[axis]) {
    if (buffer.leading[axis] != 1) place += repeat % extents_[axis] * step;
    step *= buffer.leading[axis];
  }
  const std::int64_t offset = place * elements * static_cast<std::int64_t>(size_of(buffer.dtype));
  View<const void> view(buffer.data + offset, buffer.dtype, buffer.shape);
  if (is_activation(buffer.name)) view = with_four_axes(view, layout_);
  if (is_statistic(buffer.name)) view = padded(view, 3);
  if (buffer.name == "key_mask" && !has_batch_) view = padded(view, 2);  // of the one entry of a batch without an axis
  if (folded_ > 1 && view.shape[0] > 0) {
    view.strides[0] = elements / view.shape[0];
    view.shape[0] *= folded_;
  }
  return view;
}

View<const void> JaxCall::input(std::string_view name, std::int64_t repeat) const {
  const JaxBuffer* buffer = find(inputs_, name);
  return buffer == nullptr ? View<const void>() : view_of(*buffer, repeat);
}

View<void> JaxCall::output(std::string_view name, std::int64_t repeat) const {
  const JaxBuffer* buffer = find(outputs_, name);
  if (buffer == nullptr) return {};
  const View<const void> view = view_of(*buffer, repeat);
  return {const_cast<void*>(view.data), view.dtype, view.shape, view.strides};
}

Execution JaxCall::execution() const {
  Execution execution;
  execution.threads = threads_;
  return execution;
}

JaxOptions::JaxOptions(const JaxCall& call, std::int64_t repeat) : options_(call.options()) {
  options_.keep = call.input("keep", repeat);
  options_.bias = call.input("bias", repeat);
  options_.key_mask = call.input("key_mask", repeat);
  const View<const void> lengths = call.input("key_lengths", repeat), sinks = call.input("sinks", repeat);
  if (lengths.is_present())
    for (std::int64_t i = 0; i < lengths.shape[0]; ++i)
      key_lengths_.push_back(static_cast<std::int64_t>(element_as_double(lengths, i)));
  if (sinks.is_present())
    for (std::int64_t i = 0; i < sinks.shape[0]; ++i) sinks_.push_back(element_as_double(sinks, i));
  options_.key_lengths = key_lengths_;
  options_.sinks = sinks_;
  options_.slopes = call.slopes();
}

}  // namespace qkv::python
#endif
