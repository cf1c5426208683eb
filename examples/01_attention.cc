// Attention of one head by hand: which word does "bank" look at?
#include <cstdio>

#include "qkv/qkv.h"

int main() {
  // Three tokens (sat, bank, river), one head of width 2: [B,H,T,D] = [1,1,3,2].
  const float q[] = {2, 0, 1, 2, 0, 1};
  const float k[] = {1, 0, 1, 1, 0, 2};
  const float v[] = {1, 0, 0.5f, 0.5f, 1, 0};
  float o[6];
  float lse[3];

  const qkv::AttentionInputs inputs{qkv::View<const float>(q, {1, 1, 3, 2}), qkv::View<const float>(k, {1, 1, 3, 2}),
                                    qkv::View<const float>(v, {1, 1, 3, 2})};
  const qkv::AttentionOutputs outputs{qkv::View<float>(o, {1, 1, 3, 2}), qkv::View<float>(lse, {1, 1, 3})};

  const qkv::Result<qkv::Report> report = qkv::attention_forward(inputs, outputs);
  if (!report.is_ok()) {
    std::fprintf(stderr, "%s\n", report.status().message().c_str());
    return 1;
  }
  std::printf("bank means [river %.2f, money %.2f]   (computed on %s)\n", o[2], o[3],
              std::string(to_string(report->target)).c_str());
  return o[2] > 0.84f && o[2] < 0.86f ? 0 : 1;
}
