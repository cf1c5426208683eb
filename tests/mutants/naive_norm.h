// LayerNorm of one row or, mistaken, of one column, in f32.
#ifndef QKV_TESTS_MUTANTS_NAIVE_NORM_H_
#define QKV_TESTS_MUTANTS_NAIVE_NORM_H_

#include <cstdint>
#include <vector>

#include "tests/mutants/edits.h"

namespace mutants {

struct NaiveNorm {
  std::int64_t batch = 0, tokens = 0, channels = 0;
  std::vector<float> x, gamma, beta;  // [B,T,C] [C] [C]
  float eps = 1e-5F;
};

std::vector<float> norm_forward(const NaiveNorm& norm, const Edits& edits);

struct NaiveNormGradients {
  std::vector<float> dx, dgamma, dbeta;
};

NaiveNormGradients norm_backward(const NaiveNorm& norm, const std::vector<float>& dy, const Edits& edits);

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_NAIVE_NORM_H_
