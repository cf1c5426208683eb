// What belongs to no operation: the version, names, workspaces, targets.
#include <algorithm>
#include <new>

#include "qkv/c.h"
#include "qkv/options.h"
#include "qkv/target.h"
#include "qkv/version.h"
#include "src/c/last_error.h"
#include "src/c/reader.h"
#include "src/core/status_macros.h"

const char* qkv_version(void) { return QKV_VERSION; }

const char* qkv_status_name(qkv_status status) {
  if (status < QKV_OK || status > QKV_CANCELLED) return "unknown";
  return qkv::to_string(static_cast<qkv::StatusCode>(status)).data();  // a literal
}

const char* qkv_target_name(qkv_target target) {
  if (target < QKV_TARGET_AUTO || target > QKV_TARGET_WASM) return "unknown";
  return qkv::to_string(static_cast<qkv::Target>(target)).data();  // a literal
}

qkv_tensor qkv_contiguous(void* data, qkv_dtype dtype, int rank, const int64_t* shape) {
  qkv_tensor tensor = {data, dtype, rank, {0, 0, 0, 0}, {0, 0, 0, 0}};
  qkv::Dims extents;
  for (int axis = 0; axis < std::min(rank, qkv::kMaxRank); ++axis) extents.push_back(shape[axis]);
  const qkv::Dims strides = qkv::contiguous_strides(extents);
  for (int axis = 0; axis < extents.rank(); ++axis) {
    tensor.shape[axis] = extents[axis];
    tensor.strides[axis] = strides[axis];
  }
  return tensor;
}

qkv_workspace* qkv_workspace_create(void) { return new (std::nothrow) qkv_workspace; }

qkv_workspace* qkv_workspace_create_in(void* memory, size_t bytes) {
  return new (std::nothrow) qkv_workspace{qkv::Workspace(memory, bytes)};
}

size_t qkv_workspace_capacity(const qkv_workspace* workspace) {
  return workspace == nullptr ? 0 : workspace->workspace.capacity();
}

void qkv_workspace_destroy(qkv_workspace* workspace) { delete workspace; }

qkv_status qkv_resolve_target(qkv_target requested, qkv_target* found) {
  return qkv::c::guarded([&]() -> qkv::Status {
    qkv::c::Reader read("resolve_target");
    const qkv::Target target = read.target(requested);
    if (found == nullptr) read.fail("found is null");
    QKV_RETURN_IF_ERROR(read.status());
    QKV_ASSIGN_OR_RETURN(const qkv::Target resolved, qkv::resolve_target(target));
    *found = static_cast<qkv_target>(resolved);
    return {};
  });
}

qkv_status qkv_alibi_slopes(int64_t heads, double* slopes) {
  return qkv::c::guarded([&]() -> qkv::Status {
    if (slopes == nullptr && heads > 0) return qkv::invalid_argument("alibi_slopes: slopes is null");
    const std::vector<double> all = qkv::alibi_slopes(heads);
    std::copy(all.begin(), all.end(), slopes);
    return {};
  });
}
