// What attention gets of a layer's workspace.
#include "src/layer/layer_scratch.h"

#include <string>

namespace qkv {

Result<Report> LayerScratch::lend(const Execution& execution, FunctionRef<Result<Report>(const Execution&)> attention) {
  constexpr std::size_t kAlignment = 64;
  Workspace rest = lease_.rest(bytes_);
  Execution lent;  // copied by hand: a copy of the functions could allocate
  lent.threads = execution.threads;
  lent.target = execution.target;
  if (execution.progress)
    lent.progress = [&](std::int64_t done, std::int64_t all) { return execution.progress(done, all); };
  if (execution.executor)
    lent.executor = [&](int workers, const std::function<void(int)>& body) { execution.executor(workers, body); };
  lent.workspace = &rest;
  Result<Report> report = attention(lent);
  lent_ = std::max(lent_, rest.wanted());
  if (report.is_ok() || rest.wanted() <= rest.capacity()) return report;
  if (lease_.is_fixed())
    return invalid_argument("layer: the workspace holds " + std::to_string(lease_.capacity()) +
                            " bytes, and this call needs " + std::to_string(bytes_ + rest.wanted() + kAlignment));
  lease_.grow_at_end(bytes_ + lent_ + kAlignment);
  Workspace own;
  lent.workspace = &own;
  return attention(lent);
}

}  // namespace qkv
