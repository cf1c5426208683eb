// A C++ program that uses an installed qkv: attention, the reference, explain and an exception of its own.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "qkv/c.h"
#include "qkv/qkv.h"

int main() {
  const float q[] = {1}, k[] = {0, 0}, v[] = {1, 3};
  float o[] = {0};
  const qkv::Dims one{1, 1, 1, 1}, two{1, 1, 2, 1};
  const qkv::AttentionInputs inputs{qkv::View<const float>(q, one), qkv::View<const float>(k, two),
                                    qkv::View<const float>(v, two)};
  const qkv::Report report = qkv::or_throw(qkv::attention_forward(inputs, {qkv::View<float>(o, one), {}}));
  const auto reference = qkv::or_throw(qkv::reference::attention_forward(inputs));
  if (std::fabs(o[0] - 2) > 1e-6 || reference.o.data<double>()[0] != 2) return 1;
  try {
    qkv::or_throw(qkv::parse_problem("attention B-1"));
    return 2;
  } catch (const std::runtime_error&) {
  }
  qkv::Workspace workspace;
  qkv::Tensor tensor = qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {2, 3}));
  if (tensor.size() != 6 || workspace.capacity() != 0) return 3;
  std::printf("qkv %s from C++ on %s\n", qkv_version(), std::string(to_string(report.target)).c_str());
  return 0;
}
