// The sentence of a thread's last error, and the wall that no exception passes.
#ifndef QKV_SRC_C_LAST_ERROR_H_
#define QKV_SRC_C_LAST_ERROR_H_

#include <exception>
#include <new>
#include <string_view>

#include "qkv/c.h"
#include "qkv/status.h"

namespace qkv::c {

// Keeps the message of an error for qkv_last_error(). Allocates nothing: there may be no memory.
qkv_status remember(const Status& status) noexcept;
qkv_status remember(qkv_status code, std::string_view message) noexcept;

// Runs `body`, which answers a Status.
template <class Body>
qkv_status guarded(const Body& body) noexcept {
  try {
    return remember(body());
  } catch (const std::bad_alloc&) {
    return remember(QKV_OUT_OF_MEMORY, "qkv: no memory");
  } catch (const std::exception& error) {
    return remember(QKV_UNKNOWN, error.what());
  } catch (...) {
    return remember(QKV_UNKNOWN, "qkv: a callback threw what is no std::exception");
  }
}

}  // namespace qkv::c

#endif  // QKV_SRC_C_LAST_ERROR_H_
