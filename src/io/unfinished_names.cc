// A fixed table of names: a handler may neither allocate nor lock.
#include "src/io/unfinished_names.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "src/io/atomic_file.h"

namespace qkv {
namespace {

enum class State : int { kFree, kFilling, kInUse };

struct Slot {
  std::atomic<State> state{State::kFree};
  std::atomic<pid_t> owner{0};  // a child of fork() must not remove its parent's files
  std::array<char, PATH_MAX> name{};
};

constexpr std::size_t kSlots = 16;  // files being written at once; qkv writes one
std::array<Slot, kSlots> slots;

Slot& slot_at(int slot) { return slots[static_cast<std::size_t>(slot)]; }

}  // namespace

int register_unfinished(const std::string& name) {
  if (name.size() >= PATH_MAX) return -1;
  for (std::size_t index = 0; index < kSlots; ++index) {
    Slot& slot = slots[index];
    State expected = State::kFree;
    if (!slot.state.compare_exchange_strong(expected, State::kFilling)) continue;
    name.copy(slot.name.data(), name.size());
    slot.name[name.size()] = '\0';
    slot.owner.store(::getpid());
    slot.state.store(State::kInUse);
    return static_cast<int>(index);
  }
  return -1;
}

const char* unfinished_name(int slot) { return slot_at(slot).name.data(); }

void forget_unfinished(int slot) { slot_at(slot).state.store(State::kFree); }

void remove_unfinished_files() noexcept {
  const int saved_errno = errno;
  for (Slot& slot : slots)
    if (slot.state.load() == State::kInUse && slot.owner.load() == ::getpid()) ::unlink(slot.name.data());
  errno = saved_errno;
}

}  // namespace qkv
