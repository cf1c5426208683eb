// Writes a Problem as its line.
#include "qkv/problem.h"

#include <span>

#include "src/core/shortest.h"

namespace qkv {
namespace {

std::string joined(std::span<const std::int64_t> values, char separator) {
  std::string text;
  for (std::int64_t value : values) {
    if (!text.empty()) text += separator;
    text += std::to_string(value);
  }
  return text;
}

std::string by_x(const Dims& dims) {
  std::string text;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (axis > 0) text += 'x';
    text += std::to_string(dims[axis]);
  }
  return text;
}

// "6/2", or "6" where both are alike.
std::string pair(std::int64_t first, char separator, std::int64_t second) {
  return std::to_string(first) + (first == second ? "" : separator + std::to_string(second));
}

std::string corner_word(const Problem& problem) {
  if (problem.corner == Corner::kOffset) return "offset:" + std::to_string(problem.offset);
  return std::string(to_string(problem.corner));
}

// Words that say which keys a query sees.
std::string masks(const Problem& problem) {
  std::string text;
  // A decode step stands where it stands.
  const std::string corner = problem.operation == Operation::kDecode ? "" : corner_word(problem);
  const bool says_causal = problem.operation != Operation::kDecode && problem.causality == Causality::kCausal;
  if (says_causal) text += corner.empty() ? " causal" : " causal=" + corner;
  if (problem.causality == Causality::kNone && !corner.empty()) text += " corner=" + corner;
  if (problem.window != Window{})
    text += " window=" + std::to_string(problem.window.left) + "," + std::to_string(problem.window.right);
  if (problem.keep) text += " keep=" + by_x(*problem.keep);
  if (problem.key_mask) text += " key_mask";
  if (problem.bias) text += " bias=" + by_x(*problem.bias);
  if (!problem.key_lengths.empty()) text += " lengths=" + joined(problem.key_lengths, ',');
  if (!problem.cu_seqlens_q.empty()) text += " cu_q=" + joined(problem.cu_seqlens_q, ',');
  if (!problem.cu_seqlens_k.empty()) text += " cu_k=" + joined(problem.cu_seqlens_k, ',');
  return text;
}

// Words that say what a layer has around its heads.
std::string layer_words(const Problem& problem) {
  const LayerWords& layer = problem.layer;
  std::string text = " C" + std::to_string(layer.channels);
  if (layer.out_channels != 0) text += "/" + std::to_string(layer.out_channels);
  if (layer.norm && problem.operation == Operation::kLayer) text += " norm";
  if (layer.fused) text += " fused";
  if (layer.biases) text += " biases";
  if (layer.eps) text += " eps=" + shortest(*layer.eps);
  if (layer.spread != 1) text += " spread=" + shortest(layer.spread);
  if (layer.shift != 0) text += " shift=" + shortest(layer.shift);
  return text;
}

// Words that say how tensors are stored and what is asked for.
std::string storage(const Problem& problem) {
  std::string text;
  if (problem.dtype != DType::kF32) text += " " + std::string(to_string(problem.dtype));
  if (problem.out_dtype) text += " out=" + std::string(to_string(*problem.out_dtype));
  if (problem.layout != Layout::kBHTD) text += " " + std::string(to_string(problem.layout));
  if (problem.lse) text += " lse";
  if (problem.backward) text += " backward";
  if (problem.dlse) text += " dlse";
  if (problem.seed != 0) text += " seed=" + std::to_string(problem.seed);
  return text;
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::kAttention: return "attention";
    case Operation::kDecode: return "decode";
    case Operation::kLayer: return "layer";
    case Operation::kLayerNorm: return "layernorm";
  }
  return "";
}

std::string_view to_string(Causality causality) { return causality == Causality::kCausal ? "causal" : ""; }

std::string_view to_string(Corner corner) {
  switch (corner) {
    case Corner::kUnset: return "";
    case Corner::kTopLeft: return "top_left";
    case Corner::kBottomRight: return "bottom_right";
    case Corner::kOffset: return "offset";
  }
  return "";
}

std::string_view to_string(Layout layout) { return layout == Layout::kBTHD ? "bthd" : "bhtd"; }

std::string format(const Problem& problem) {
  std::string text = std::string(to_string(problem.operation)) + " B" + std::to_string(problem.batch);
  const bool has_heads = problem.operation != Operation::kLayerNorm;
  if (has_heads) text += " H" + pair(problem.query_heads, '/', problem.kv_heads);
  text += " T" + pair(problem.query_length, 'x', problem.key_length);
  if (has_heads) text += " D" + pair(problem.width, '/', problem.value_width);
  if (problem.operation == Operation::kLayer || !has_heads) text += layer_words(problem);
  text += masks(problem);
  if (problem.slopes) text += " slopes";
  if (problem.sinks) text += " sinks";
  if (problem.scale) text += " scale=" + shortest(*problem.scale);
  if (problem.softcap) text += " softcap=" + shortest(*problem.softcap);
  return text + storage(problem);
}

}  // namespace qkv
