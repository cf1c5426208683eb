// Greedy: the first simpler problem that still fails is the next one to simplify.
#include "src/check/shrink.h"

#include <algorithm>
#include <utility>

#include "src/check/layer_tensors.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// Masks and biases keep their broadcast axes and follow the other sizes.
void follow(std::optional<Dims>& shape, const Problem& before, const Problem& after) {
  if (!shape) return;
  const std::int64_t old[kMaxRank] = {before.batch, before.query_heads, before.query_length, before.key_length};
  const std::int64_t now[kMaxRank] = {after.batch, after.query_heads, after.query_length, after.key_length};
  for (int axis = 0; axis < shape->rank(); ++axis) {
    const int at = kMaxRank - shape->rank() + axis;
    if ((*shape)[axis] == old[at]) (*shape)[axis] = now[at];
  }
}

class Steps {
 public:
  explicit Steps(const Problem& problem) : problem_(problem) {}

  void change(const std::function<void(Problem&)>& edit) {
    Problem next = problem_;
    edit(next);
    if (next.query_heads < next.kv_heads || next.query_heads % next.kv_heads != 0) return;
    if (next.layer.fused) next.value_width = next.width;
    if (!next.layer.norm) next.layer.eps.reset();
    if (next.operation == Operation::kDecode) next.causality = Causality::kCausal;
    follow_sizes(problem_, next);
    const bool needs_corner = next.operation == Operation::kDecode || next.causality == Causality::kCausal ||
                              next.window != Window{} || next.slopes;
    if (!needs_corner) {
      next.corner = Corner::kUnset;
      next.offset = 0;
    }
    if (next != problem_ && parse_any_problem(format(next)).is_ok()) found_.push_back(std::move(next));
  }

  // 1, half, one less.
  void size(std::int64_t Problem::* member, std::int64_t least = 1) {
    const std::int64_t now = problem_.*member;
    for (const std::int64_t smaller : {least, now / 2, now - 1})
      if (smaller >= least && smaller < now) change([&](Problem& next) { next.*member = smaller; });
  }

  std::vector<Problem> take() { return std::move(found_); }

 private:
  const Problem& problem_;
  std::vector<Problem> found_;
};

void heads(Steps& steps) {
  steps.change([](Problem& next) { next.query_heads = next.kv_heads; });
  steps.change([](Problem& next) {
    next.query_heads /= next.kv_heads;
    next.kv_heads = 1;
  });
  steps.size(&Problem::query_heads);
  steps.size(&Problem::width);
  steps.size(&Problem::value_width);
}

// What a layer has around its heads, and its one length.
void around_heads(const Problem& problem, Steps& steps) {
  steps.change([](Problem& next) { next.layer.norm = next.operation == Operation::kLayerNorm; });
  steps.change([](Problem& next) { next.layer.out_channels = 0; });
  steps.change([](Problem& next) { next.layer.fused = false; });
  steps.change([](Problem& next) { next.layer.biases = false; });
  steps.change([](Problem& next) { next.layer.eps.reset(); });
  steps.change([](Problem& next) { next.layer.shift = 0; });
  steps.change([](Problem& next) { next.layer.spread = 1; });
  for (const std::int64_t length : {std::int64_t{1}, problem.query_length / 2, problem.query_length - 1})
    if (length >= 1 && length < problem.query_length)
      steps.change([length](Problem& next) { next.query_length = next.key_length = length; });
  for (const std::int64_t channels : {std::int64_t{1}, problem.layer.channels / 2, problem.layer.channels - 1})
    if (channels >= 1 && channels < problem.layer.channels)
      steps.change([channels](Problem& next) { next.layer.channels = channels; });
  for (const std::int64_t channels : {std::int64_t{1}, problem.layer.out_channels / 2})
    if (channels >= 1 && channels < problem.layer.out_channels)
      steps.change([channels](Problem& next) { next.layer.out_channels = channels; });
}

}  // namespace

void follow_sizes(const Problem& before, Problem& after) {
  follow(after.keep, before, after);
  follow(after.bias, before, after);
  if (after.key_lengths.empty()) return;
  after.key_lengths.resize(static_cast<std::size_t>(after.batch));
  for (std::int64_t& length : after.key_lengths) length = std::min(length, after.key_length);
}

std::vector<Problem> simpler(const Problem& problem) {
  Steps steps(problem);
  steps.change([](Problem& next) { next.cu_seqlens_q = next.cu_seqlens_k = {}; });
  steps.change([](Problem& next) { next.keep.reset(); });
  steps.change([](Problem& next) { next.key_mask = false; });
  steps.change([](Problem& next) { next.bias.reset(); });
  steps.change([](Problem& next) { next.key_lengths.clear(); });
  steps.change([](Problem& next) { next.window = {}; });
  steps.change([](Problem& next) { next.causality = Causality::kNone; });
  steps.change([](Problem& next) { next.slopes = false; });
  steps.change([](Problem& next) { next.sinks = false; });
  steps.change([](Problem& next) { next.softcap.reset(); });
  steps.change([](Problem& next) { next.scale.reset(); });
  steps.change([](Problem& next) { next.layout = Layout::kBHTD; });
  steps.change([](Problem& next) { next.dlse = false; });
  steps.change([](Problem& next) { next.backward = next.dlse = false; });
  steps.change([](Problem& next) { next.lse = false; });
  if (problem.cu_seqlens_q.empty()) steps.size(&Problem::batch);
  if (is_layer(problem)) {
    around_heads(problem, steps);
  } else if (problem.cu_seqlens_q.empty()) {
    steps.size(&Problem::query_length);
    steps.size(&Problem::key_length);
  }
  if (problem.operation != Operation::kLayerNorm) heads(steps);
  steps.change([](Problem& next) { next.seed = 0; });
  return steps.take();
}

Result<Problem> shrink(Problem problem, const std::function<Result<bool>(const Problem&)>& still_fails,
                       int most_questions) {
  bool found = true;
  while (found) {
    found = false;
    for (Problem& next : simpler(problem)) {
      if (most_questions-- == 0) return problem;
      QKV_ASSIGN_OR_RETURN(const bool fails, still_fails(next));
      if (!fails) continue;
      problem = std::move(next);
      found = true;
      break;
    }
  }
  return problem;
}

}  // namespace qkv::check
