// What XLA hands to a handler, as the library reads it. Included where jaxlib's headers are.
#ifndef QKV_APPS_PYTHON_JAX_CALL_H_
#define QKV_APPS_PYTHON_JAX_CALL_H_

#include <xla/ffi/api/ffi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/options.h"
#include "qkv/problem.h"
#include "qkv/tensor.h"

namespace qkv::python {

// A buffer of XLA: row-major, and of one call or of many at once. vmap has put axes before those of a call, the same
// number before each buffer's; one of extent 1 is shared by the calls.
struct JaxBuffer {
  std::string name;
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Dims shape;                         // of one call
  std::vector<std::int64_t> leading;  // the axes before
};

// One handler's call: operands and results by the names that the attributes `operands` and `results` give them.
class JaxCall {
 public:
  static xla::ffi::ErrorOr<JaxCall> read(xla::ffi::RemainingArgs arguments, xla::ffi::RemainingRets results,
                                         xla::ffi::Dictionary attributes);

  // Calls of the library: one, or one for each place of vmap's axes if these can't be seen as a larger batch.
  std::int64_t repeats() const { return repeats_; }
  // As the library's axes; absent if there is none of that name.
  View<const void> input(std::string_view name, std::int64_t repeat) const;
  View<void> output(std::string_view name, std::int64_t repeat) const;
  // What does not depend on operands.
  const AttentionOptions& options() const { return options_; }
  std::span<const double> slopes() const { return slopes_; }
  Execution execution() const;

 private:
  void fold();
  View<const void> view_of(const JaxBuffer& buffer, std::int64_t repeat) const;

  std::vector<JaxBuffer> inputs_, outputs_;
  std::vector<std::int64_t> extents_;  // of vmap's axes
  std::int64_t repeats_ = 1, folded_ = 1;
  bool has_batch_ = true;  // whether q has an axis for the batch
  Layout layout_ = Layout::kBHTD;
  AttentionOptions options_;
  std::vector<double> slopes_;
  int threads_ = 0;
};

// The options of one call, and the lists that they point to; so it stays where it is.
class JaxOptions {
 public:
  JaxOptions(const JaxCall& call, std::int64_t repeat);
  JaxOptions(const JaxOptions&) = delete;
  JaxOptions& operator=(const JaxOptions&) = delete;

  const AttentionOptions& get() const { return options_; }

 private:
  std::vector<std::int64_t> key_lengths_;
  std::vector<double> sinks_;
  AttentionOptions options_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_JAX_CALL_H_
