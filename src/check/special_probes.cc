// Lists, with the reason of each where it is not plain.
#include "src/check/special_probes.h"

#include <utility>

namespace qkv::check {
namespace {

constexpr double kHuge = 3000;  // scores in the thousands: beyond −10000 + a score, and beyond exp in f32

Problem longer(const ProbeOptions& options, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  Problem problem = first_probe(options);
  problem.batch = 1;
  problem.query_heads = problem.kv_heads = 2;
  problem.query_length = queries;
  problem.key_length = keys;
  problem.width = width;
  problem.value_width = width + 3;
  return problem;
}

}  // namespace

std::vector<Problem> special_attention(const ProbeOptions& options) {
  std::vector<Problem> probes;
  Problem problem = first_probe(options);
  problem.scale = kHuge;
  problem.backward = false;  // the gradients of such scores are differences of equal numbers: noise
  problem.keep = Dims{problem.batch, 1, problem.query_length, problem.key_length};
  probes.push_back(problem);
  problem = first_probe(options);
  problem.scale = -40;
  problem.backward = false;
  probes.push_back(problem);
  problem = first_probe(options);
  problem.query_length = 1;  // decode
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  probes.push_back(problem);
  problem = first_probe(options);
  problem.key_length = 1;
  probes.push_back(problem);
  problem = first_probe(options);
  std::swap(problem.query_length, problem.key_length);  // rows without a key under the bottom-right corner
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  probes.push_back(problem);
  problem = longer(options, 5, 5, 6);
  problem.value_width = 6;
  problem.query_heads = problem.kv_heads = 3;
  problem.batch = 2;
  probes.push_back(problem);
  probes.push_back(longer(options, 37, 37, 40));
  problem = longer(options, 57, 121, 16);  // what is left over differs for tiles of 2, 4 ... 64
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  probes.push_back(problem);
  problem = longer(options, 33, 65, 59);
  problem.window = {20, 20};
  problem.corner = Corner::kTopLeft;
  probes.push_back(problem);
  problem = longer(options, 7, 11, 5);
  problem.cu_seqlens_q = {0, 2, 2, 7};
  problem.cu_seqlens_k = {0, 5, 6, 11};
  probes.push_back(problem);
  if (options.backward) {
    problem = first_probe(options);
    problem.dlse = true;
    probes.push_back(problem);
  }
  problem = first_probe(options);  // rows without a key, where a fill value may be no larger than a score
  std::swap(problem.query_length, problem.key_length);
  problem.scale = kHuge;
  problem.backward = false;
  problem.causality = Causality::kCausal;
  problem.corner = Corner::kBottomRight;
  probes.push_back(problem);
  return probes;
}

std::vector<Problem> special_decodes(const ProbeOptions& options) {
  std::vector<Problem> probes;
  Problem problem = first_probe(options);
  problem.scale = kHuge;
  problem.keep = Dims{problem.batch, 1, 1, problem.key_length};
  probes.push_back(problem);
  problem = first_probe(options);
  problem.key_length = 1;  // the first token of all
  probes.push_back(problem);
  problem = first_probe(options);
  problem.query_length = problem.key_length;  // the whole prompt into an empty cache
  probes.push_back(problem);
  problem = first_probe(options);
  problem.query_length = 2;
  problem.key_lengths = {problem.key_length, 2};  // full, and empty before the step
  probes.push_back(problem);
  for (const std::int64_t tokens : {1, 3}) probes.push_back(longer(options, tokens, 121, 16));
  problem = longer(options, 1, 257, 59);
  problem.window = {20, 0};
  probes.push_back(problem);
  return probes;
}

std::vector<Problem> special_layers(const ProbeOptions& options) {
  std::vector<Problem> probes;
  Problem square = first_probe(options);  // every matrix could be read transposed, and left out
  square.query_heads = square.kv_heads = 4;
  square.width = square.value_width = 5;
  square.layer.channels = square.layer.out_channels = 20;
  square.layer.biases = true;
  probes.push_back(square);
  square.layer.norm = true;
  square.causality = Causality::kCausal;
  probes.push_back(square);
  square.layer.fused = true;
  probes.push_back(square);
  Problem problem = first_probe(options);
  problem.query_length = problem.key_length = 1;
  probes.push_back(problem);
  problem = first_probe(options);
  problem.layer.norm = true;
  problem.layer.shift = 1000;  // the variance of numbers far from 0
  probes.push_back(problem);
  problem.layer.shift = 0;
  problem.layer.spread = 0.003;  // a variance of the size of eps
  probes.push_back(problem);
  problem = longer(options, 37, 37, 16);
  problem.layer.norm = problem.layer.fused = problem.layer.biases = true;
  problem.causality = Causality::kCausal;
  problem.layer.channels = problem.layer.out_channels = 32;
  probes.push_back(problem);
  return probes;
}

std::vector<Problem> special_norms(const ProbeOptions& options) {
  std::vector<Problem> probes;
  const Problem first = first_probe(options);
  for (const std::int64_t channels : {2, 3, 4, 257}) {
    probes.push_back(first);
    probes.back().layer.channels = channels;
  }
  for (const double shift : {300.0, 1000.0}) {  // the variance of numbers far from 0
    probes.push_back(first);
    probes.back().layer.channels = 16;
    probes.back().layer.shift = shift;
  }
  probes.push_back(first);  // a variance of the size of eps
  probes.back().layer.spread = 0.003;
  Problem square = first;  // tokens for channels
  square.query_length = square.key_length = square.layer.channels;
  probes.push_back(square);
  return probes;
}

}  // namespace qkv::check
