// Finding and adding the stages of a trace.
#include "src/core/trace.h"

#include <utility>

#include "src/core/status_macros.h"

namespace qkv {

const Stage* Trace::find(std::string_view name) const {
  for (const Stage& stage : stages)
    if (stage.name == name) return &stage;
  return nullptr;
}

Result<double*> add_stage(Trace& trace, Stage stage, Dims shape) {
  QKV_ASSIGN_OR_RETURN(stage.values, Tensor::zeros(DType::kF64, shape));
  trace.stages.push_back(std::move(stage));
  return trace.stages.back().values.data<double>();
}

Status add_stage(Trace& trace, Stage stage, View<const void> values) {
  QKV_ASSIGN_OR_RETURN(stage.values, converted(values, DType::kF64));
  trace.stages.push_back(std::move(stage));
  return {};
}

void append_stages(Trace& to, Trace from) {
  for (Stage& stage : from.stages)
    if (to.find(stage.name) == nullptr) to.stages.push_back(std::move(stage));
}

}  // namespace qkv
