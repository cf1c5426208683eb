// Stands in for the operating system that wasi-libc would import, so that a module imports nothing, and for its
// threads.
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
// An environment of nothing; an error would end the program.
std::int32_t __imported_wasi_snapshot_preview1_environ_sizes_get(std::int32_t count, std::int32_t bytes) {
  *reinterpret_cast<std::uint32_t*>(count) = 0;
  *reinterpret_cast<std::uint32_t*>(bytes) = 0;
  return 0;
}
std::int32_t __imported_wasi_snapshot_preview1_environ_get(std::int32_t, std::int32_t) { return 0; }
// What is to be done when a thread ends: the only one never does.
int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }
[[noreturn]] void __imported_wasi_snapshot_preview1_proc_exit(std::int32_t) { __builtin_trap(); }

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
