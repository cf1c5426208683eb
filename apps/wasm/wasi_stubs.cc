// Stands in for the operating system that wasi-libc would import, so that a module imports nothing.
#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier): wasi-libc's names
extern "C" {

constexpr std::int32_t kNotSupported = 58;  // ENOTSUP as WASI numbers it

std::int32_t __imported_wasi_snapshot_preview1_fd_write(std::int32_t, std::int32_t, std::int32_t, std::int32_t) {
  return kNotSupported;
}
std::int32_t __imported_wasi_snapshot_preview1_fd_close(std::int32_t) { return kNotSupported; }
std::int32_t __imported_wasi_snapshot_preview1_fd_seek(std::int32_t, std::int64_t, std::int32_t, std::int32_t) {
  return kNotSupported;
}
std::int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(std::int32_t, std::int32_t) { return kNotSupported; }
std::int32_t __imported_wasi_snapshot_preview1_environ_sizes_get(std::int32_t, std::int32_t) { return kNotSupported; }
std::int32_t __imported_wasi_snapshot_preview1_environ_get(std::int32_t, std::int32_t) { return kNotSupported; }
[[noreturn]] void __imported_wasi_snapshot_preview1_proc_exit(std::int32_t) { __builtin_trap(); }

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
