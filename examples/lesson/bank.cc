// Attention with qkv: sat, bank and river all ask at once.
#include <cstdio>

#include "qkv/qkv.h"

namespace {

constexpr double kQ[] = {2, 0, 1, 2, 0, 1};  // [3,2]: a row for sat, one for bank, one for river
constexpr double kK[] = {1, 0, 1, 1, 0, 2};
constexpr double kV[] = {1, 0, 0.5, 0.5, 1, 0};
constexpr double kIdentity[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// Writes softmax(Q Kᵀ / √2) V and prints it; [1,1,3,2] is one sequence, one head, three tokens, two numbers.
bool show(const double* v, int width) {
  double o[9] = {};
  const qkv::AttentionInputs inputs{qkv::View<const double>(kQ, {1, 1, 3, 2}),
                                    qkv::View<const double>(kK, {1, 1, 3, 2}),
                                    qkv::View<const double>(v, {1, 1, 3, width})};
  const auto report = qkv::attention_forward(inputs, {qkv::View<double>(o, {1, 1, 3, width}), {}});
  for (int i = 0; i < 3 * width; ++i) std::printf("%.2f%c", o[i], (i + 1) % width == 0 ? '\n' : ' ');
  return report.is_ok();
}

}  // namespace

int main() {
  // The library never writes the weights A down; asked for the identity, it gives back A I = A.
  const bool is_done = show(kIdentity, 3) && show(kV, 2);
  return is_done ? 0 : 1;
}
