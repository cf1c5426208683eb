// The lesson's running example through the fast layer, on every target: every head's output, full, unscaled and causal.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/layer.h"
#include "tests/array.h"
#include "tests/attention_testing.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Json;

// LayerNorm with eps 0, two heads, no output projection: y holds the heads' outputs beside each other.
struct Running {
  Json file = testing::read_json("tests/data/lesson/running.json");
  Array x = array(file["x"], 3), wq = array(file["wq"], 2), wk = array(file["wk"], 2), wv = array(file["wv"], 2);

  // The parameters and x in `dtype`; they live in `owned`.
  struct Typed {
    std::vector<Tensor> owned;
    View<const void> x;
    LayerParameters parameters;
  };
  Typed as(DType dtype) const {
    Typed typed;
    for (const Array* input : {&x, &wq, &wk, &wv}) typed.owned.push_back(must(converted(input->view(), dtype)));
    typed.x = typed.owned[0].view();
    typed.parameters.wq = typed.owned[1].view();
    typed.parameters.wk = typed.owned[2].view();
    typed.parameters.wv = typed.owned[3].view();
    return typed;
  }
  LayerOptions options(const AttentionOptions& attention) const {
    LayerOptions options;
    options.query_heads = 2;
    options.eps = 0;
    options.attention = attention;
    return options;
  }
  // y [1,5,4] against the outputs that the file has for one of its variants.
  void expect_outputs(const char* variant, const Tensor& y, double tolerance) const {
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t token = 0; token < 5; ++token)
        for (std::size_t c = 0; c < 2; ++c)
          EXPECT_NEAR(element_as_double(y.view(), static_cast<std::int64_t>(token * 4 + head * 2 + c)),
                      file["heads"][head][variant]["output"][token][c].get<double>(), tolerance)
              << variant << " head " << head << " token " << token;
  }
};

TEST(LessonLayer, running_gives_the_outputs_of_every_head) {
  const Running running;
  AttentionOptions unscaled, causal;
  unscaled.scale = 1;
  causal.causality = Causality::kCausal;
  const std::pair<const char*, AttentionOptions> variants[] = {
      {"full", {}}, {"unscaled", unscaled}, {"causal", causal}};
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const Running::Typed typed = running.as(dtype);
    for (const auto& [name, attention] : variants)
      for (const Target target : available_targets()) {
        Tensor y = must(Tensor::zeros(dtype, {1, 5, 4}));
        must(layer_forward(typed.x, typed.parameters, y.view(), running.options(attention), on(target)));
        running.expect_outputs(name, y, dtype == DType::kF64 ? 1e-12 : 2e-6);
      }
  }
}

TEST(LessonLayer, running_decoded_token_by_token_gives_the_causal_outputs) {
  const Running running;
  const Running::Typed typed = running.as(DType::kF64);
  for (const Target target : available_targets()) {
    Tensor y = must(Tensor::zeros(DType::kF64, {1, 5, 4}));
    Tensor k = must(Tensor::zeros(DType::kF64, {1, 2, 5, 2})), v = must(Tensor::zeros(DType::kF64, {1, 2, 5, 2}));
    std::vector<std::int64_t> lengths = {0};
    for (std::int64_t token = 0; token < 5; ++token) {
      const View<const double> x(static_cast<const double*>(typed.x.data) + token * 4, {1, 1, 4});
      const View<double> row(y.data<double>() + token * 4, {1, 1, 4});
      must(layer_decode(x, typed.parameters, {k.view(), v.view(), {}, lengths}, row, running.options({}), on(target)));
    }
    running.expect_outputs("causal", y, 1e-12);
  }
}

}  // namespace
}  // namespace qkv
