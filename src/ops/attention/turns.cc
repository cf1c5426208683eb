// Counters that are waited for: spinning first, since a turn is mostly a moment away, then giving the core to others.
#include "src/ops/attention/turns.h"

#include <atomic>
#include <thread>

namespace qkv {
namespace {

void wait_for(std::int32_t* counter, std::int64_t value) {
  constexpr int kSpins = 1000;  // about 10 µs
  const std::atomic_ref<std::int32_t> count(*counter);
  for (int spin = 0; count.load(std::memory_order_acquire) != value; ++spin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spin >= kSpins) std::this_thread::yield();
  }
}

std::int32_t* rows_done(const BackwardCall& call, std::int64_t batch, std::int64_t head) {
  return call.rows_done + batch * call.forward.shape.query_heads + head;
}

}  // namespace

void wait_for_turn(std::int32_t* counter, std::int64_t turn) { wait_for(counter, turn); }

void end_turn(std::int32_t* counter, std::int64_t turn) {
  std::atomic_ref<std::int32_t>(*counter).store(static_cast<std::int32_t>(turn + 1), std::memory_order_release);
}

void wait_for_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head) {
  if (call.rows_done == nullptr) return;
  wait_for(rows_done(call, batch, head), call.cuts.row_tasks_per_head);
}

void end_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head) {
  std::atomic_ref<std::int32_t>(*rows_done(call, batch, head)).fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace qkv
