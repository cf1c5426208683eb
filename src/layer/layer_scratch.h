// The scratch of a layer's call and of the attention inside it, out of one workspace.
#ifndef QKV_SRC_LAYER_LAYER_SCRATCH_H_
#define QKV_SRC_LAYER_LAYER_SCRATCH_H_

#include <algorithm>
#include <cstddef>

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/function_ref.h"
#include "src/core/workspace_lease.h"

namespace qkv {

// Holds `bytes` for the layer; what the workspace has behind them is lent to attention, whose needs it alone knows.
class LayerScratch {
 public:
  LayerScratch(const Execution& execution, std::size_t bytes) : bytes_(bytes), lease_(execution, "layer", bytes) {}

  const Status& status() const { return lease_.status(); }
  char* memory() const { return lease_.memory(); }

  // Calls attention with the rest of the workspace. Where that is too little, a workspace of the caller's own fixed
  // memory is refused with the bytes that the whole layer needs; one that can grow does so when this call has ended,
  // and for once attention takes memory of its own.
  Result<Report> lend(const Execution& execution, FunctionRef<Result<Report>(const Execution&)> attention);

  // Of the layer and of attention.
  std::size_t used() const { return bytes_ + lent_; }

 private:
  std::size_t bytes_;
  std::size_t lent_ = 0;
  WorkspaceLease lease_;
};

}  // namespace qkv

#endif  // QKV_SRC_LAYER_LAYER_SCRATCH_H_
