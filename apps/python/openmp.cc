// A team of OpenMP, started through its compiler interface, whose members take the numbers of the workers.
#include "apps/python/openmp.h"

#include <unistd.h>

#include <atomic>

namespace qkv::python {
namespace {

using GompParallel = void (*)(void (*member)(void*), void* data, unsigned threads, unsigned flags);

std::atomic<GompParallel> gomp_parallel{nullptr};
std::atomic<pid_t> process{0};

struct Team {
  const std::function<void(int)>& body;
  const int workers;
  std::atomic<int> next = 0;

  // OpenMP may give fewer threads than were asked for: each takes numbers until none is left.
  static void join(void* data) {
    Team& team = *static_cast<Team*>(data);
    for (int worker = team.next++; worker < team.workers; worker = team.next++) team.body(worker);
  }
};

}  // namespace

void use_openmp(std::uintptr_t address) {
  process = getpid();
  gomp_parallel = reinterpret_cast<GompParallel>(address);
}

Executor openmp_executor() {
  const GompParallel start = gomp_parallel;
  if (start == nullptr || process != getpid()) return {};
  return [start](int workers, const std::function<void(int)>& body) {
    Team team{body, workers};
    start(&Team::join, &team, static_cast<unsigned>(workers), 0);
  };
}

}  // namespace qkv::python
