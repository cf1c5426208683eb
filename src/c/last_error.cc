// One buffer a thread.
#include "src/c/last_error.h"

namespace qkv::c {
namespace {

constexpr std::size_t kLongest = 2047;  // messages have a line or two; a longer one ends early
thread_local char text[kLongest + 1] = "";

}  // namespace

qkv_status remember(qkv_status code, std::string_view message) noexcept {
  if (code == QKV_OK) return code;
  text[message.copy(text, kLongest)] = 0;
  return code;
}

qkv_status remember(const Status& status) noexcept {
  // The C codes are the C++ ones; files, which two more are about, have no C interface.
  static_assert(static_cast<int>(StatusCode::kShapeMismatch) == QKV_SHAPE_MISMATCH);
  static_assert(static_cast<int>(StatusCode::kOutOfMemory) == QKV_OUT_OF_MEMORY);
  static_assert(static_cast<int>(StatusCode::kCancelled) == QKV_CANCELLED);
  return remember(static_cast<qkv_status>(status.code()), status.message());
}

}  // namespace qkv::c

const char* qkv_last_error(void) { return qkv::c::text; }
