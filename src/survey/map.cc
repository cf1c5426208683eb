// map_overview and map_tile: check, cut the picture's rows into tasks, run, divide sums into means.
#include "qkv/map.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/core/parallel.h"
#include "src/core/status_macros.h"
#include "src/core/workspace_lease.h"
#include "src/survey/blocks.h"
#include "src/survey/map_call.h"
#include "src/survey/survey_call.h"

namespace qkv {
namespace {

// Queries of a task: enough that the last, partial block of each is little.
constexpr std::int64_t kQueriesPerTask = 384;

Result<AttentionShape> check_map(const AttentionInputs& inputs, const AttentionOptions& options) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  if (shape.batch != 1 || shape.query_heads != 1 || shape.kv_heads != 1)
    return shape_mismatch("map: q is " + to_string(inputs.q.shape) + " and k " + to_string(inputs.k.shape) +
                          "; expected one batch entry and one head of each, [1,1,T,D]");
  return shape;
}

AttentionInputs as_attention(const MapInputs& inputs) {
  View<const void> v = inputs.k;
  if (v.shape.rank() == kMaxRank) v = narrow_values(v);
  return {inputs.q, inputs.k, v};
}

// Everything checked that a pass needs.
struct Pass {
  const AttentionShape shape;
  const AttentionInputs inputs;
  const AttentionOptions& options;
  const Positions positions;
  ForwardCall call;
  const MapKernel kernel;

  Pass(const AttentionShape& checked, const AttentionInputs& tensors, const AttentionOptions& given, Target target)
      : shape(checked),
        inputs(tensors),
        options(given),
        positions(shape, options),
        call{shape, inputs, {}, options, positions, resolve_scale(shape, options), {}, {}},
        kernel(map_kernel(target, inputs.q.dtype)) {
    if (options.keep.is_present()) call.keep = broadcast_to_scores(shape, options.keep);
    if (options.bias.is_present()) call.bias = broadcast_to_scores(shape, options.bias);
  }
};

// Adds up all rows of the picture, whole pixel rows a task, and divides. Where `lse` is null, `results` are written.
Status fill_picture(const Pass& pass, const double* lse, const Picture& picture, const RowResults& results,
                    const Execution& execution) {
  const PixelAxis& rows = picture.rows;
  const std::int64_t per_task = std::max<std::int64_t>(kQueriesPerTask / rows.step, 1);
  const std::int64_t tasks = (rows.pixels() + per_task - 1) / per_task;
  QKV_ASSIGN_OR_RETURN(const int available, resolve_threads("map", execution.threads));
  const int threads = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, available));
  const std::size_t each = (pass.kernel.scratch_bytes(pass.call, picture.columns) + 63) / 64 * 64;
  const WorkspaceLease scratch(execution, "map", each * static_cast<std::size_t>(threads));
  QKV_RETURN_IF_ERROR(scratch.status());
  const bool finished = parallel_for(tasks, threads, execution, [&](std::int64_t task, int worker) {
    const std::int64_t first = (tasks - 1 - task) * per_task;  // under a causal mask the last rows see most
    const std::int64_t last = std::min(first + per_task, rows.pixels());
    const std::int64_t end = std::min(rows.end_of(last - 1), rows.end);
    char* const mine = scratch.memory() + each * static_cast<std::size_t>(worker);
    for_each_block(pass.positions, 0, 0, rows.end_of(first - 1), end, pass.kernel.queries,
                   [&](const QueryBlock& block) { pass.kernel.run(pass.call, block, lse, picture, results, mine); });
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t height = std::min(rows.end_of(r), rows.end) - rows.end_of(r - 1);
      for (std::int64_t c = 0; c < picture.columns.pixels(); ++c) {
        const std::int64_t width =
            std::min(picture.columns.end_of(c), picture.columns.end) - picture.columns.end_of(c - 1);
        picture.mean[r * picture.stride + c] /= static_cast<float>(height) * static_cast<float>(width);
      }
    }
  });
  return finished ? Status() : cancelled("map: stopped by the caller");
}

// The smallest power of two that makes the map fit.
std::int64_t step_for(const AttentionShape& shape, std::int64_t pixels) {
  std::int64_t step = 1;
  while ((std::max(shape.query_length, shape.key_length) + step - 1) / step > pixels) step *= 2;
  return step;
}

Status unsupported_type(Target target) {
  return unsupported("map: target " + std::string(to_string(target)) + " has no f64; use f32");
}

}  // namespace

Result<Overview> map_overview(const MapInputs& inputs, const AttentionOptions& options, const OverviewOptions& overview,
                              const Execution& execution) {
  const AttentionInputs tensors = as_attention(inputs);
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_map(tensors, options));
  if (overview.pixels < 1)
    return invalid_argument("map: pixels is " + std::to_string(overview.pixels) + "; expected at least 1");
  if (overview.dtype != DType::kF32 && overview.dtype != DType::kF16)
    return invalid_argument("map: pictures are f32 or f16, not " + std::string(to_string(overview.dtype)));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  const Pass pass(shape, tensors, options, target);
  if (pass.kernel.run == nullptr) return unsupported_type(target);

  Overview out;
  out.step = step_for(shape, overview.pixels);
  const PixelAxis rows{0, shape.query_length, out.step}, columns{0, shape.key_length, out.step};
  QKV_ASSIGN_OR_RETURN(out.max, Tensor::zeros(DType::kF32, {rows.pixels(), columns.pixels()}));
  QKV_ASSIGN_OR_RETURN(out.mean, Tensor::zeros(DType::kF32, {rows.pixels(), columns.pixels()}));
  for (std::vector<double>* each : {&out.lse, &out.entropy, &out.largest})
    each->resize(static_cast<std::size_t>(shape.query_length));
  const Picture picture{rows, columns, out.max.data<float>(), out.mean.data<float>(), columns.pixels()};
  const RowResults results{out.lse.data(), out.entropy.data(), out.largest.data()};
  QKV_RETURN_IF_ERROR(fill_picture(pass, nullptr, picture, results, execution));
  if (overview.dtype == DType::kF32) return out;
  QKV_ASSIGN_OR_RETURN(out.max, converted(out.max.view(), overview.dtype));
  QKV_ASSIGN_OR_RETURN(out.mean, converted(out.mean.view(), overview.dtype));
  return out;
}

Status map_tile(const MapInputs& inputs, std::span<const double> lse, const MapTile& tile,
                const MapTileOutputs& outputs, const AttentionOptions& options, const Execution& execution) {
  const AttentionInputs tensors = as_attention(inputs);
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_map(tensors, options));
  if (static_cast<std::int64_t>(lse.size()) != shape.query_length)
    return shape_mismatch("map: lse has " + std::to_string(lse.size()) +
                          " rows; expected [Tq] = " + std::to_string(shape.query_length));
  if (tile.step < 1) return invalid_argument("map: step is " + std::to_string(tile.step) + "; expected at least 1");
  if (tile.row < 0 || tile.row >= shape.query_length || tile.column < 0 || tile.column >= shape.key_length)
    return invalid_argument("map: the tile begins at row " + std::to_string(tile.row) + ", column " +
                            std::to_string(tile.column) + ", outside of " + std::to_string(shape.query_length) + " × " +
                            std::to_string(shape.key_length));
  const Dims expected{tile.height, tile.width};
  for (const View<float>& view : {outputs.max, outputs.mean})
    if (!(view.shape == expected) || (tile.width > 1 && view.strides[1] != 1) ||
        view.strides[0] != outputs.max.strides[0])
      return shape_mismatch("map: max and mean are " + to_string(outputs.max.shape) + " and " +
                            to_string(outputs.mean.shape) + "; expected " + to_string(expected) +
                            " with rows that lie alike");
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  const Pass pass(shape, tensors, options, target);
  if (pass.kernel.run == nullptr) return unsupported_type(target);
  for (std::int64_t r = 0; r < tile.height; ++r)
    for (float* at : {outputs.max.data, outputs.mean.data})
      std::fill_n(at + r * outputs.max.strides[0], tile.width, 0.0f);
  // Held inside the map: a step may be as large as the type.
  const auto end_of = [&](std::int64_t begin, std::int64_t pixels, std::int64_t length) {
    return pixels > (length - begin) / tile.step ? length : begin + pixels * tile.step;
  };
  const std::int64_t step = std::min(tile.step, std::max(shape.query_length, shape.key_length));
  const Picture picture{{tile.row, end_of(tile.row, tile.height, shape.query_length), step},
                        {tile.column, end_of(tile.column, tile.width, shape.key_length), step},
                        outputs.max.data,
                        outputs.mean.data,
                        outputs.max.strides[0]};
  return fill_picture(pass, lse.data(), picture, {}, execution);
}

}  // namespace qkv
