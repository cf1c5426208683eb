// One progress report over several calls of parallel_for.
#ifndef QKV_SRC_CORE_STAGED_PROGRESS_H_
#define QKV_SRC_CORE_STAGED_PROGRESS_H_

#include <cstdint>
#include <functional>

#include "qkv/options.h"

namespace qkv {

// Hands out executions, one a stage, whose progress counts as that stage's share of the whole: equal shares, in
// thousandths, so that done never falls and ends at total. A stage may be left out, or be staged itself.
// Constraint: `whole` outlives this object. Allocates nothing.
class StagedProgress {
 public:
  StagedProgress(const Execution& whole, int stages) : whole_(whole), total_(stages * kShare) {
    part_.threads = whole.threads;
    part_.target = whole.target;
    part_.workspace = whole.workspace;
    if (whole.progress)
      part_.progress = [this](std::int64_t done, std::int64_t total) {
        return whole_.progress(stage_ * kShare + kShare * done / total, total_);
      };
    if (whole.executor)
      part_.executor = [this](int workers, const std::function<void(int)>& body) { whole_.executor(workers, body); };
  }
  StagedProgress(const StagedProgress&) = delete;
  StagedProgress& operator=(const StagedProgress&) = delete;

  const Execution& next_stage() {
    ++stage_;
    return part_;
  }

 private:
  static constexpr std::int64_t kShare = 1000;
  const Execution& whole_;
  Execution part_;
  std::int64_t total_;
  std::int64_t stage_ = -1;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_STAGED_PROGRESS_H_
