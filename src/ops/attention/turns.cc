// Counters that are waited for: spinning first, since a turn is mostly a moment away, then giving the core to others,
// and asleep where there are more threads than cores.
#include "src/ops/attention/turns.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace qkv {
namespace {

void wait_for(std::int32_t* counter, std::int64_t value) {
  constexpr int kSpins = 1000;  // about 10 µs
  constexpr int kYields = 100;
  constexpr std::chrono::microseconds kNap(20);
  const std::atomic_ref<std::int32_t> count(*counter);
  for (int spin = 0; count.load(std::memory_order_acquire) != value; ++spin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spin < kSpins) continue;
    if (spin < kSpins + kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kNap);
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

void wait_for_rests(const BackwardCall& call, std::int64_t head) {
  const std::int64_t before = head - call.rests.heads_at_once;
  if (call.rests.of_dq == nullptr || before < 0) return;
  wait_for(call.rests.panels_done + before, call.cuts.panels);
}

void end_panel(const BackwardCall& call, std::int64_t head) {
  if (call.rests.of_dq == nullptr) return;
  std::atomic_ref<std::int32_t>(call.rests.panels_done[head]).fetch_add(1, std::memory_order_acq_rel);
}

void wait_for_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head) {
  if (call.rows_done == nullptr) return;
  wait_for(rows_done(call, batch, head), call.cuts.row_tasks_per_head);
}

void end_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head) {
  std::atomic_ref<std::int32_t>(*rows_done(call, batch, head)).fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace qkv
