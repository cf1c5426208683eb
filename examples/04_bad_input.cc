// What a mistake looks like: the message names the operation, the shapes found and the line that broke.
#include <cstdio>
#include <string>
#include <vector>

#include "qkv/qkv.h"

int main() {
  const std::vector<float> memory(8 * 64);
  std::vector<float> o(8 * 64);
  const qkv::AttentionInputs inputs{qkv::View<const float>(memory.data(), {1, 8, 4, 16}),
                                    qkv::View<const float>(memory.data(), {1, 3, 4, 16}),
                                    qkv::View<const float>(memory.data(), {1, 3, 4, 16})};
  const auto report = qkv::attention_forward(inputs, {qkv::View<float>(o.data(), {1, 8, 4, 16}), {}});
  std::printf("%s: %s\n", std::string(to_string(report.code())).c_str(), report.status().message().c_str());
  return report.code() == qkv::StatusCode::kShapeMismatch ? 0 : 1;
}
