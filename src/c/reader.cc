// C structs to C++ ones.
#include "src/c/reader.h"

#include <algorithm>

namespace qkv::c {

void Reader::fail(const std::string& what) {
  if (status_.is_ok()) status_ = invalid_argument(std::string(operation_) + ": " + what);
}

bool Reader::check_size(const char* name, std::size_t size, std::size_t known, const unsigned char* bytes) {
  if (size < sizeof(std::size_t)) {
    fail(std::string(name) + ".struct_size is " + std::to_string(size) + "; begin the struct with its QKV_..._INIT");
    return false;
  }
  for (std::size_t at = known; at < size; ++at)
    if (bytes[at] != 0) {
      if (status_.is_ok())
        status_ = unsupported(std::string(operation_) + ": " + name + " has " + std::to_string(size) +
                              " bytes and uses what lies behind the " + std::to_string(known) + " that this library (" +
                              qkv_version() + ") knows; it is made for a newer one");
      return false;
    }
  return true;
}

View<void> Reader::tensor(const char* name, const qkv_tensor* given) {
  if (given == nullptr) return {};
  if (given->dtype < QKV_F64 || given->dtype > QKV_I64) {
    fail(std::string(name) + ".dtype is " + std::to_string(given->dtype) + ", which is no qkv_dtype");
    return {};
  }
  if (given->rank < 0 || given->rank > kMaxRank) {
    fail(std::string(name) + ".rank is " + std::to_string(given->rank) + "; expected 0 to 4");
    return {};
  }
  static_assert(static_cast<int>(DType::kI64) == QKV_I64 && static_cast<int>(DType::kBF16) == QKV_BF16);
  View<void> view;
  view.data = given->data;
  view.dtype = static_cast<DType>(given->dtype);
  for (int axis = 0; axis < given->rank; ++axis) {
    view.shape.push_back(given->shape[axis]);
    view.strides.push_back(given->strides[axis]);
  }
  return view;
}

View<void> Reader::required_tensor(const char* name, const qkv_tensor* given) {
  if (given == nullptr) fail(std::string(name) + " is null");
  return tensor(name, given);
}

void Reader::check_count(const char* name, bool is_null, std::size_t count) {
  if (is_null && count > 0) fail(std::string(name) + " is null, but " + name + "_count is not 0");
  if (!is_null && count == 0) fail(std::string(name) + " is given, but " + name + "_count is 0");
}

std::span<const std::int64_t> Reader::numbers(const char* name, const std::int64_t* given, std::size_t count) {
  check_count(name, given == nullptr, count);
  return {given, given == nullptr ? 0 : count};
}

std::span<const double> Reader::numbers(const char* name, const double* given, std::size_t count) {
  check_count(name, given == nullptr, count);
  return {given, given == nullptr ? 0 : count};
}

Target Reader::target(qkv_target given) {
  static_assert(static_cast<int>(Target::kWasm) == QKV_TARGET_WASM);
  if (given >= QKV_TARGET_AUTO && given <= QKV_TARGET_WASM) return static_cast<Target>(given);
  fail("target is " + std::to_string(given) + ", which is no qkv_target");
  return Target::kAuto;
}

AttentionOptions Reader::options(const qkv_attention_options* given) {
  static constexpr qkv_attention_options kInitial = QKV_ATTENTION_OPTIONS_INIT;
  const qkv_attention_options read = record("options", given, kInitial);
  AttentionOptions options;
  if (read.has_scale) options.scale = read.scale;
  if (!read.has_scale && read.scale != 0) fail("options.scale is given, but has_scale is false");
  if (read.softcap != 0) options.softcap = read.softcap;
  options.causality = read.causal ? Causality::kCausal : Causality::kNone;
  options.window = {read.window_left, read.window_right};
  static_assert(static_cast<int>(Corner::kOffset) == QKV_CORNER_OFFSET);
  if (read.corner < QKV_CORNER_UNSET || read.corner > QKV_CORNER_OFFSET)
    fail("options.corner is " + std::to_string(read.corner) + ", which is no qkv_corner");
  else
    options.corner = static_cast<Corner>(read.corner);
  options.offset = read.offset;
  options.keep = tensor("keep", read.keep);
  options.key_mask = tensor("key_mask", read.key_mask);
  options.bias = tensor("bias", read.bias);
  options.key_lengths = numbers("key_lengths", read.key_lengths, read.key_lengths_count);
  options.cu_seqlens_q = numbers("cu_seqlens_q", read.cu_seqlens_q, read.cu_seqlens_q_count);
  options.cu_seqlens_k = numbers("cu_seqlens_k", read.cu_seqlens_k, read.cu_seqlens_k_count);
  options.slopes = numbers("slopes", read.slopes, read.slopes_count);
  options.sinks = numbers("sinks", read.sinks, read.sinks_count);
  return options;
}

void Reader::check_corner(const AttentionOptions& options) {
  const bool acts = options.causality == Causality::kCausal || options.window != Window{} || !options.slopes.empty();
  if (options.corner != Corner::kUnset && !acts)
    fail("options.corner has no effect without causal, a window or slopes");
}

Execution Reader::execution(const qkv_execution* given) {
  static constexpr qkv_execution kInitial = QKV_EXECUTION_INIT;
  const qkv_execution read = record("execution", given, kInitial);
  Execution execution;
  execution.threads = read.threads;
  execution.target = target(read.target);
  execution.workspace = read.workspace == nullptr ? nullptr : &read.workspace->workspace;
  // Two pointers fit into a std::function, so that a call with callbacks allocates nothing either.
  if (read.progress != nullptr)
    execution.progress = [call = read.progress, user = read.progress_user](std::int64_t done, std::int64_t total) {
      return call(user, done, total);
    };
  if (read.executor != nullptr)
    execution.executor = [call = read.executor, user = read.executor_user](int workers,
                                                                           const std::function<void(int)>& body) {
      const auto enter = [](void* context, int worker) {
        (*static_cast<const std::function<void(int)>*>(context))(worker);
      };
      call(user, workers, enter, const_cast<std::function<void(int)>*>(&body));
    };
  return execution;
}

KeyValueCache Reader::cache(const qkv_cache* given) {
  static constexpr qkv_cache kInitial = QKV_CACHE_INIT;
  const qkv_cache read = required("cache", given, kInitial);
  if (read.lengths == nullptr && read.lengths_count > 0) fail("cache.lengths is null, but lengths_count is not 0");
  return {required_tensor("cache.k", read.k),
          required_tensor("cache.v", read.v),
          tensor("cache.block_table", read.block_table),
          {read.lengths, read.lengths == nullptr ? 0 : read.lengths_count}};
}

void Reader::check_report(const qkv_report* report) {
  if (report == nullptr) return;
  static constexpr qkv_report kInitial = QKV_REPORT_INIT;
  record("report", report, kInitial);
}

void Reader::write_report(const Report& report, qkv_report* to) {
  if (to == nullptr) return;
  const qkv_report all = {to->struct_size, static_cast<qkv_target>(report.target),
                          report.threads,  report.tasks,
                          report.flops,    report.scratch_bytes};
  std::memcpy(to, &all, std::min(to->struct_size, sizeof(all)));
}

}  // namespace qkv::c
