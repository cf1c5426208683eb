// The same number two ways: the document that explains an example, and the reference's trace in C++.
#include <cstdio>
#include <string>

#include "qkv/qkv.h"

int main() {
  const qkv::Result<std::string> document = qkv::explain(R"({"example": "bank"})");
  if (!document.is_ok()) {
    std::fprintf(stderr, "%s\n", document.status().message().c_str());
    return 1;
  }
  std::printf("the document of \"bank\" has %zu characters of JSON\n", document->size());

  const double q[] = {1, 2};
  const double k[] = {1, 0, 1, 1, 0, 2};
  const double v[] = {1, 0, 0.5, 0.5, 1, 0};
  const qkv::AttentionInputs inputs{qkv::View<const double>(q, {1, 1, 1, 2}), qkv::View<const double>(k, {1, 1, 3, 2}),
                                    qkv::View<const double>(v, {1, 1, 3, 2})};
  qkv::Trace trace;
  const auto result = qkv::reference::attention_forward(inputs, {}, &trace);
  if (!result.is_ok()) return 1;
  for (const qkv::Stage& stage : trace.stages) {
    std::printf("%-7s %-12s", stage.name.c_str(), to_string(stage.values.shape()).c_str());
    for (std::int64_t i = 0; i < stage.values.size(); ++i) std::printf(" %6.3f", stage.values.data<double>()[i]);
    std::printf("\n");
  }
  return 0;
}
