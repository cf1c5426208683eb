// The signal handler: nothing in it but loads, stores and signal-safe calls.
#include "src/check/library/child_faults.h"

#include <sys/resource.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace qkv::check {
namespace {

constexpr std::uintptr_t kNearStack = 64 << 10;  // of the stack pointer: what one call or one local reaches

Control* shared = nullptr;
std::atomic<const WatchedRegions*> watched{nullptr};
std::uintptr_t stack_top = 0, stack_bytes = 0;
alignas(64) unsigned char handler_stack[64 << 10];

std::uintptr_t stack_pointer(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.sp;
#else
  (void)context;
  return 0;
#endif
}

// Whether the access was a write, where the machine says so.
void read_access(const ucontext_t& context, Fault& fault) {
#if defined(__x86_64__)
  constexpr greg_t kPageFault = 14, kWriteBit = 2;
  fault.is_known_access = context.uc_mcontext.gregs[REG_TRAPNO] == kPageFault;
  fault.is_write = (context.uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
#elif defined(__aarch64__)
  constexpr std::uint32_t kEsrMagic = 0x45535201, kWriteBit = 1U << 6;
  const unsigned char* record = context.uc_mcontext.__reserved;
  for (;;) {  // records of (magic, size) until one of size 0
    std::uint32_t head[2];
    std::memcpy(head, record, sizeof(head));
    if (head[1] == 0) return;
    if (head[0] == kEsrMagic) {
      std::uint64_t syndrome = 0;
      std::memcpy(&syndrome, record + sizeof(head), sizeof(syndrome));
      fault.is_known_access = 1;
      fault.is_write = (syndrome & kWriteBit) != 0;
      return;
    }
    record += head[1];
  }
#else
  (void)context;
  fault.is_known_access = 0;
#endif
}

bool is_stack(std::uintptr_t address, std::uintptr_t pointer) {
  const bool is_near = address + kNearStack > pointer && address < pointer + kNearStack;
  const bool is_below =
      pointer < stack_top - stack_bytes + kNearStack && pointer + stack_bytes > stack_top - stack_bytes;
  return is_near || (is_below && address + stack_bytes > pointer && address < stack_top);
}

void note(int number, siginfo_t* info, void* detail) {
  const auto& context = *static_cast<const ucontext_t*>(detail);
  Fault fault{};
  fault.signal = number;
  fault.is_sent = info->si_code <= 0 ? 1 : 0;
  // Positive codes are the kernel's; without an address it says SI_KERNEL (a vector access that is not aligned).
  fault.has_address = info->si_code > 0 && info->si_code != SI_KERNEL ? 1 : 0;
  if (fault.has_address != 0) {
    const auto* address = static_cast<const unsigned char*>(info->si_addr);
    fault.place = FaultPlace::kElsewhere;
    fault.byte = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
    read_access(context, fault);
    if (const WatchedRegions* regions = watched.load()) regions->locate(address, fault);
    if (fault.place == FaultPlace::kElsewhere &&
        is_stack(reinterpret_cast<std::uintptr_t>(address), stack_pointer(context)))
      fault.place = FaultPlace::kStack;
  }
  shared->fault = fault;
  shared->outcome = Outcome::kFault;
  ::signal(number, SIG_DFL);
  ::raise(number);  // pending until this returns: the process ends by the signal that it got
}

}  // namespace

void WatchedRegions::locate(const unsigned char* address, Fault& fault) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Watched& one = list_[i];
    if (address < one.space_begin || address >= one.space_end) continue;
    fault.region = i;
    fault.byte = address - one.begin;
    fault.place = address < one.begin ? FaultPlace::kBefore
                  : address < one.end ? FaultPlace::kInside
                                      : FaultPlace::kBehind;
  }
}

void catch_faults(Control& control) {
  shared = &control;
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  constexpr rlim_t kUsual = 8 << 20;
  stack_bytes = limit.rlim_cur == RLIM_INFINITY ? kUsual : limit.rlim_cur;
  stack_top = reinterpret_cast<std::uintptr_t>(&limit);
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof(handler_stack);
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

void watch(const WatchedRegions* regions) { watched.store(regions); }

}  // namespace qkv::check
