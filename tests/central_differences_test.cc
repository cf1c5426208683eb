// The reference's attention gradients against central differences, with every option alone and in pairs.
#include "tests/central_differences.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/problem.h"
#include "qkv/reference.h"
#include "src/check/generate.h"
#include "tests/array.h"

namespace qkv {
namespace {

using testing::expect_gradient;
using testing::numbers;

std::vector<double> flat(View<const void> view) {
  std::vector<double> out;
  if (view.is_present())
    for_each_element(view.shape, view.strides,
                     [&](std::int64_t offset) { out.push_back(element_as_double(view, offset)); });
  return out;
}

// o, then lse.
std::vector<double> outputs_of(const check::Case& c) {
  const auto result = reference::attention_forward(c.inputs(), c.options());
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  if (!result.is_ok()) return {};
  std::vector<double> out = numbers(result->o);
  const std::vector<double> lse = numbers(result->lse);
  out.insert(out.end(), lse.begin(), lse.end());
  return out;
}

void expect_gradients(check::Case c) {
  SCOPED_TRACE(format(c.problem));
  const auto result = reference::attention_backward(c.inputs(), c.d_o.view, c.d_lse.view, c.options());
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  std::vector<double> weights = flat(c.d_o.view);
  const std::vector<double> d_lse = flat(c.d_lse.view);
  weights.insert(weights.end(), d_lse.begin(), d_lse.end());

  const auto outputs = [&] { return outputs_of(c); };
  ASSERT_EQ(weights.size(), outputs().size()) << "o and lse both count";
  expect_gradient("dq", c.q.view, result->dq, weights, outputs);
  expect_gradient("dk", c.k.view, result->dk, weights, outputs);
  expect_gradient("dv", c.v.view, result->dv, weights, outputs);
  if (c.bias.view.is_present()) expect_gradient("dbias", c.bias.view, result->dbias, weights, outputs);
  if (c.sinks.empty()) return;
  const auto heads = static_cast<std::int64_t>(c.sinks.size());
  expect_gradient("dsinks", View<double>(c.sinks.data(), {heads}), result->dsinks, weights, outputs);
}

void expect_gradients(Problem problem, double hidden_bias = 0) {
  problem.dtype = DType::kF64;
  problem.lse = problem.backward = problem.dlse = true;
  check::GenerateOptions options;
  options.hidden_bias = hidden_bias;
  Result<check::Case> c = check::generate(problem, options);
  ASSERT_TRUE(c.is_ok()) << c.status().message();
  expect_gradients(std::move(*c));
}

void expect_gradients(const std::string& line, double hidden_bias = 0) {
  const Result<Problem> problem = parse_problem(line);
  ASSERT_TRUE(problem.is_ok()) << problem.status().message();
  expect_gradients(*problem, hidden_bias);
}

constexpr const char* kProbe = "attention B2 H6/2 T3x5 D7/11 f64 seed=3";

TEST(CentralDifferences, of_the_plain_problem_are_the_gradients) { expect_gradients(kProbe); }

TEST(CentralDifferences, of_every_option_alone_on_the_asymmetric_probe_are_the_gradients) {
  for (const char* words : {"causal=top_left",
                            "causal=bottom_right",
                            "causal=offset:1",
                            "causal=offset:-2",
                            "window=1,1 corner=bottom_right",
                            "window=2,-1 corner=top_left",
                            "window=-1,0 corner=offset:1",
                            "keep=2x6x3x5",
                            "keep=2x1x1x5",
                            "keep=3x1",
                            "key_mask",
                            "bias=2x6x3x5",
                            "bias=6x3x5",
                            "bias=3x5",
                            "bias=1x5",
                            "bias=3x1",
                            "bias=2x1x1x5",
                            "bias=1x6x3x1",
                            "lengths=4,2",
                            "lengths=0,5",
                            "slopes corner=bottom_right",
                            "slopes corner=top_left",
                            "sinks",
                            "scale=0.9",
                            "scale=-0.4",
                            "scale=0",
                            "softcap=0.7",
                            "bthd"})
    expect_gradients(std::string(kProbe) + " " + words);
}

TEST(CentralDifferences, of_a_bias_that_hides_keys_are_the_gradients) {
  expect_gradients(std::string(kProbe) + " bias=2x6x3x5", 0.4);
  expect_gradients(std::string(kProbe) + " bias=3x5 sinks softcap=2", 0.4);
}

TEST(CentralDifferences, of_packed_sequences_are_the_gradients) {
  const std::string packed = "attention H4/2 T6x7 D3/2 f64 cu_q=0,2,2,3,6 cu_k=0,3,4,4,7 seed=5";
  expect_gradients(packed);
  expect_gradients(packed + " causal=bottom_right");
  expect_gradients(packed + " window=1,0 corner=top_left slopes");
  expect_gradients(packed + " lengths=6 sinks bias=4x1x7 softcap=1");
}

TEST(CentralDifferences, of_one_key_and_of_one_query_are_the_gradients) {
  expect_gradients("attention T1 D1 f64 sinks");
  expect_gradients("attention H2/1 T4x1 D2/1 f64");
  expect_gradients("attention H2 T1x4 D2/3 f64 causal=bottom_right");
}

struct Option {
  const char* name;
  void (*apply)(Problem&);
};

const Option kOptions[] = {
    {"causal", [](Problem& p) { p.causality = Causality::kCausal; }},
    {"window", [](Problem& p) { p.window = {2, 1}; }},
    {"keep", [](Problem& p) { p.keep = Dims{2, 1, 3, 5}; }},
    {"key_mask", [](Problem& p) { p.key_mask = true; }},
    {"bias", [](Problem& p) { p.bias = Dims{4, 1, 5}; }},
    {"lengths", [](Problem& p) { p.key_lengths = {3, 5}; }},
    {"slopes", [](Problem& p) { p.slopes = true; }},
    {"sinks", [](Problem& p) { p.sinks = true; }},
    {"scale", [](Problem& p) { p.scale = -0.8; }},
    {"softcap", [](Problem& p) { p.softcap = 0.9; }},
    {"layout", [](Problem& p) { p.layout = Layout::kBTHD; }},
};

// The corner that a pair of options needs, if it needs one.
void set_corner(Problem& problem, Corner corner) {
  const bool positional = problem.causality == Causality::kCausal || problem.window != Window{} || problem.slopes;
  problem.corner = positional ? corner : Corner::kUnset;
  problem.offset = positional && corner == Corner::kOffset ? 1 : 0;
}

TEST(CentralDifferences, of_every_pair_of_options_are_the_gradients) {
  for (const Option& first : kOptions)
    for (const Option& second : kOptions) {
      if (&second <= &first) continue;
      for (const Corner corner : {Corner::kTopLeft, Corner::kBottomRight, Corner::kOffset}) {
        Problem problem = *parse_problem("attention B2 H4/2 T3x5 D3/2 f64 seed=11");
        first.apply(problem);
        second.apply(problem);
        set_corner(problem, corner);
        expect_gradients(problem);
        if (problem.corner == Corner::kUnset) break;  // the corners do not differ
      }
    }
}

TEST(CentralDifferences, of_everything_at_once_are_the_gradients) {
  Problem problem = *parse_problem("attention B2 H4/2 T3x5 D3/2 f64 seed=12");
  for (const Option& option : kOptions) option.apply(problem);
  set_corner(problem, Corner::kBottomRight);
  expect_gradients(problem);
}

}  // namespace
}  // namespace qkv
