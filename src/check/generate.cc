// Fills tensors from streams of random numbers, one stream a tensor.
#include "src/check/generate.h"

#include <cmath>
#include <limits>

#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// One number a tensor, for good: changing one changes the tensors that every line names.
enum StreamId : std::uint64_t {
  kQ = 1,
  kK,
  kV,
  kKeep,
  kKeyMask,
  kBias,
  kHiddenBias,
  kSinks,
  kDo,
  kDlse,
  kStaleK,
  kStaleV
};

constexpr double kHiddenShare = 0.25;       // of the keys, one by one
constexpr double kHiddenRowShare = 0.0625;  // rows that see nothing
constexpr double kHiddenRunShare = 0.125;   // aligned runs of keys, so that whole tiles are hidden
constexpr std::int64_t kRun = 32;

class Generator {
 public:
  Generator(const Problem& problem, const GenerateOptions& options) : problem_(problem), options_(options) {
    options_.placement.layout = problem.layout;
  }

  // N(0,1), rounded to `dtype`, with a share of −inf.
  Result<Placed> normal(StreamId id, DType dtype, const Dims& shape, double hidden = 0) const {
    const RandomStream values(problem_.seed, id);
    const RandomStream coins(problem_.seed, kHiddenBias);
    QKV_ASSIGN_OR_RETURN(Tensor exact, Tensor::zeros(DType::kF64, shape));
    for (std::int64_t i = 0; i < exact.size(); ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      const bool hide = hidden > 0 && coins.uniform(index) < hidden;
      exact.data<double>()[i] = hide ? -std::numeric_limits<double>::infinity() : values.normal(index);
    }
    QKV_ASSIGN_OR_RETURN(const Tensor rounded, converted(exact.view(), dtype));
    return place(rounded.view(), options_.placement);
  }

  Status inputs(Case& made) const {
    const Problem& p = problem_;
    QKV_ASSIGN_OR_RETURN(made.q, normal(kQ, p.dtype, {p.batch, p.query_heads, p.query_length, p.width}));
    QKV_ASSIGN_OR_RETURN(made.k, normal(kK, p.dtype, {p.batch, p.kv_heads, p.key_length, p.width}));
    QKV_ASSIGN_OR_RETURN(made.v, normal(kV, p.dtype, {p.batch, p.kv_heads, p.key_length, p.value_width}));
    if (p.operation != Operation::kDecode) return {};
    QKV_ASSIGN_OR_RETURN(made.stale_k, normal(kStaleK, p.dtype, made.k.view.shape));
    QKV_ASSIGN_OR_RETURN(made.stale_v, normal(kStaleV, p.dtype, made.v.view.shape));
    return {};
  }

  // true = may be seen. Rows and runs are those of the last axis.
  Result<Placed> mask(StreamId id, const Dims& shape) const {
    const RandomStream coins(problem_.seed, id);
    const std::int64_t keys = shape[shape.rank() - 1];
    QKV_ASSIGN_OR_RETURN(Tensor mask, Tensor::zeros(DType::kBool, shape));
    for (std::int64_t i = 0; i < mask.size(); ++i) {
      const std::int64_t row = i / keys;
      const std::int64_t run = row * (keys / kRun + 1) + i % keys / kRun;
      const auto coin = [&](std::int64_t at, std::uint64_t kind) {  // three kinds share a stream
        return coins.uniform(static_cast<std::uint64_t>(at) * 3 + kind);
      };
      mask.data<bool>()[i] =
          coin(i, 0) >= kHiddenShare && coin(row, 1) >= hidden_rows(id) && coin(run, 2) >= kHiddenRunShare;
    }
    return place(mask.view(), options_.placement);
  }

 private:
  static double hidden_rows(StreamId id) { return id == kKeep ? kHiddenRowShare : 0; }

  const Problem& problem_;
  GenerateOptions options_;
};

std::vector<double> alibi_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  slopes.reserve(static_cast<std::size_t>(heads));
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)));
  return slopes;
}

std::vector<double> random_sinks(const Problem& problem) {
  const RandomStream values(problem.seed, kSinks);
  std::vector<double> sinks;
  sinks.reserve(static_cast<std::size_t>(problem.query_heads));
  for (std::int64_t h = 0; h < problem.query_heads; ++h) sinks.push_back(values.normal(static_cast<std::uint64_t>(h)));
  return sinks;
}

Dims output_shape(const Problem& problem) {
  return {problem.batch, problem.query_heads, problem.query_length, problem.value_width};
}

Dims lse_shape(const Problem& problem) { return {problem.batch, problem.query_heads, problem.query_length}; }

}  // namespace

AttentionInputs Case::inputs() const { return {q.view, k.view, v.view}; }

AttentionOptions Case::options() const {
  AttentionOptions options;
  options.scale = problem.scale;
  options.softcap = problem.softcap;
  options.causality = problem.causality;
  options.window = problem.window;
  options.corner = problem.corner;
  options.offset = problem.offset;
  options.keep = keep.view;
  options.key_mask = key_mask.view;
  options.bias = bias.view;
  options.key_lengths = problem.key_lengths;
  options.cu_seqlens_q = problem.cu_seqlens_q;
  options.cu_seqlens_k = problem.cu_seqlens_k;
  options.slopes = slopes;
  options.sinks = sinks;
  return options;
}

double work_of(const Problem& problem) {
  constexpr double kBothPasses = 3;  // a backward pass is about two forward ones
  const double pairs = static_cast<double>(problem.batch) * static_cast<double>(problem.query_heads) *
                       static_cast<double>(problem.query_length) * static_cast<double>(problem.key_length);
  const double around_heads = static_cast<double>(problem.batch * problem.query_length * problem.layer.channels) *
                              static_cast<double>(problem.layer.out_channels + 1);
  return (pairs * static_cast<double>(problem.width + problem.value_width) + around_heads) *
         (problem.backward ? kBothPasses : 1);
}

LayerGiven Case::layer_given() const {
  LayerOptions options;
  options.query_heads = problem.query_heads;
  options.kv_heads = problem.kv_heads;
  options.norm = problem.layer.norm ? Norm::kLayerNorm : Norm::kNone;
  options.eps = problem.layer.eps.value_or(options.eps);
  options.attention = this->options();
  return {problem.operation, layer.x.view, layer.parameters(), options, layer.d_y.view};
}

DType output_type(const Problem& problem) { return problem.out_dtype.value_or(problem.dtype); }

DType lse_type(const Problem& problem) { return problem.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Result<Case> generate(const Problem& problem, const GenerateOptions& options) {
  const Generator generator(problem, options);
  Case made;
  made.problem = problem;
  if (is_layer(problem)) {
    QKV_ASSIGN_OR_RETURN(made.layer, generate_layer(problem, options.placement));
  } else {
    QKV_RETURN_IF_ERROR(generator.inputs(made));
  }
  if (problem.keep) {
    QKV_ASSIGN_OR_RETURN(made.keep, generator.mask(kKeep, *problem.keep));
  }
  if (problem.key_mask) {
    QKV_ASSIGN_OR_RETURN(made.key_mask, generator.mask(kKeyMask, {problem.batch, problem.key_length}));
  }
  if (problem.bias) {
    QKV_ASSIGN_OR_RETURN(made.bias, generator.normal(kBias, problem.dtype, *problem.bias, options.hidden_bias));
  }
  if (problem.backward && !is_layer(problem)) {
    QKV_ASSIGN_OR_RETURN(made.d_o, generator.normal(kDo, output_type(problem), output_shape(problem)));
  }
  if (problem.dlse) {
    QKV_ASSIGN_OR_RETURN(made.d_lse, generator.normal(kDlse, lse_type(problem), lse_shape(problem)));
  }
  if (problem.slopes) made.slopes = alibi_slopes(problem.query_heads);
  if (problem.sinks) made.sinks = random_sinks(problem);
  return made;
}

Result<CaseOutputs> make_outputs(const Problem& problem, const Placement& placement) {
  Placement placed = placement;
  placed.layout = problem.layout;
  CaseOutputs outputs;
  QKV_ASSIGN_OR_RETURN(outputs.o, place_empty(output_type(problem), output_shape(problem), placed));
  if (problem.lse) {
    QKV_ASSIGN_OR_RETURN(outputs.lse, place_empty(lse_type(problem), lse_shape(problem), placed));
  }
  return outputs;
}

Result<CaseGradients> make_gradients(const Problem& problem, const Placement& placement) {
  Placement placed = placement;
  placed.layout = problem.layout;
  const DType type = output_type(problem);
  const Dims q{problem.batch, problem.query_heads, problem.query_length, problem.width};
  const Dims k{problem.batch, problem.kv_heads, problem.key_length, problem.width};
  const Dims v{problem.batch, problem.kv_heads, problem.key_length, problem.value_width};
  CaseGradients gradients;
  QKV_ASSIGN_OR_RETURN(gradients.dq, place_empty(type, q, placed));
  QKV_ASSIGN_OR_RETURN(gradients.dk, place_empty(type, k, placed));
  QKV_ASSIGN_OR_RETURN(gradients.dv, place_empty(type, v, placed));
  if (problem.bias) {
    QKV_ASSIGN_OR_RETURN(gradients.dbias, place_empty(problem.dtype, *problem.bias, placed));
  }
  if (problem.sinks) {
    QKV_ASSIGN_OR_RETURN(gradients.dsinks, place_empty(lse_type(problem), {problem.query_heads}, placed));
  }
  return gradients;
}

}  // namespace qkv::check
