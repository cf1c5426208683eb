// Every number of the lesson's three examples comes out of the reference; a ledger sees to it that none is left out.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "qkv/reference.h"
#include "tests/array.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Json;
using testing::numbers;

constexpr double kTolerance = 1e-12;

// Compares expected numbers with computed ones and counts what it has compared.
class Ledger {
 public:
  void check(const std::string& what, const Json& expected, const std::vector<double>& got,
             double tolerance = kTolerance) {
    const std::vector<double> want = numbers(expected);
    ASSERT_EQ(want.size(), got.size()) << what;
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], tolerance) << what << " number " << i;
    checked_ += want.size();
  }
  // What a page prints: the computed number rounded to that many digits.
  void check_print(const std::string& what, const Json& expected, const std::vector<double>& got, int digits) {
    check(what, expected, got, 0.5 * std::pow(10, -digits) + kTolerance);
  }
  // Numbers that were given to the computation, or are not computed at all.
  void count_given(const Json& json) { checked_ += leaves(json); }
  void expect_all(const Json& file) const { EXPECT_EQ(checked_, leaves(file)); }

 private:
  static std::size_t leaves(const Json& json) {
    if (json.is_number()) return 1;
    std::size_t sum = 0;
    if (json.is_structured())
      for (const Json& item : json) sum += leaves(item);
    return sum;
  }
  std::size_t checked_ = 0;
};

Json lesson(const std::string& name) { return testing::read_json("tests/data/lesson/" + name + ".json"); }

// Part [first, first + count) of a stage's numbers.
std::vector<double> part(const Trace& trace, const char* name, std::size_t first, std::size_t count) {
  const Stage* stage = trace.find(name);
  EXPECT_NE(stage, nullptr) << name;
  if (stage == nullptr) return {};
  const std::vector<double> all = numbers(stage->values);
  EXPECT_LE(first + count, all.size()) << name;
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

std::vector<double> all(const Trace& trace, const char* name) {
  const Stage* stage = trace.find(name);
  EXPECT_NE(stage, nullptr) << name;
  return stage == nullptr ? std::vector<double>{} : numbers(stage->values);
}

// The five stages of one head: {"raw","scaled","weights","lse","output"}.
void check_chain(Ledger& ledger, const std::string& what, const Json& expected, const Trace& trace, std::size_t head) {
  const std::pair<const char*, const char*> stages[] = {
      {"raw", "raw"}, {"scaled", "scaled"}, {"weights", "p"}, {"lse", "lse"}, {"output", "o"}};
  for (const auto& [key, stage] : stages) {
    const std::size_t count = numbers(expected[key]).size();
    ledger.check(what + " " + key, expected[key], part(trace, stage, head * count, count));
  }
}

Trace trace_of(const Array& q, const Array& k, const Array& v) {
  Trace trace;
  const auto result = reference::attention_forward({q.view(), k.view(), v.view()}, {}, &trace);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return trace;
}

TEST(Lesson, bank_and_its_experiments_give_every_number_of_the_file) {
  const Json file = lesson("bank");
  const Array q = array(file["q"]);
  const Array k = array(file["k"]);
  const Array v = array(file["v"]);
  Ledger ledger;
  for (const char* given : {"q", "k", "v", "pick"}) ledger.count_given(file[given]);
  ledger.check("scale", file["scale"], {1 / std::sqrt(2.0)});

  const Trace trace = trace_of(q, k, v);
  check_chain(ledger, "bank", file["expected"], trace, 0);
  const Json& prints = file["page_prints"];
  ledger.check_print("raw_row", prints["raw_row"], part(trace, "raw", 3, 3), 2);
  ledger.check_print("scaled_row", prints["scaled_row"], part(trace, "scaled", 3, 3), 2);
  ledger.check_print("weights_row", prints["weights_row"], part(trace, "p", 3, 3), 2);
  ledger.check_print("output_row", prints["output_row"], part(trace, "o", 2, 2), 2);
  ledger.check_print("weights", prints["weights"], all(trace, "p"), 2);
  ledger.check_print("output", prints["output"], all(trace, "o"), 2);

  Array river = v;
  river.values[4] = 0;
  river.values[5] = 1;
  check_chain(ledger, "river says money", file["experiments"]["river_says_money"]["expected"], trace_of(q, k, river),
              0);
  Array one = q;
  one.values[2] = 1;
  one.values[3] = 0;
  check_chain(ledger, "query [1,0]", file["experiments"]["query_1_0"]["expected"], trace_of(one, k, v), 0);
  Array zero = q;
  zero.values[2] = zero.values[3] = 0;
  check_chain(ledger, "query zero", file["experiments"]["query_zero"]["expected"], trace_of(zero, k, v), 0);
  ledger.expect_all(file);
}

// The running example as a layer: LayerNorm with eps 0, two heads, no output projection.
Trace running(const Json& file, const AttentionOptions& attention) {
  const Array x = array(file["x"], 3);
  const Array wq = array(file["wq"], 2);
  const Array wk = array(file["wk"], 2);
  const Array wv = array(file["wv"], 2);
  LayerParameters parameters;
  parameters.wq = wq.view();
  parameters.wk = wk.view();
  parameters.wv = wv.view();
  LayerOptions options;
  options.query_heads = 2;
  options.eps = 0;
  options.attention = attention;
  Trace trace;
  const auto result = reference::layer_forward(x.view(), parameters, options, &trace);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return trace;
}

TEST(Lesson, running_gives_every_number_of_the_file_through_the_layer) {
  const Json file = lesson("running");
  AttentionOptions unscaled;
  unscaled.scale = 1;
  AttentionOptions causal;
  causal.causality = Causality::kCausal;
  const Trace full_trace = running(file, {});
  const Trace unscaled_trace = running(file, unscaled);
  const Trace causal_trace = running(file, causal);
  Ledger ledger;
  for (const char* given : {"x", "wq", "wk", "wv", "pick"}) ledger.count_given(file[given]);
  ledger.check("sigma", file["sigma"], all(full_trace, "sigma"));
  ledger.check("u", file["u"], all(full_trace, "u"));
  for (std::size_t head = 0; head < 2; ++head) {
    const Json& expected = file["heads"][head];
    for (const char* name : {"q", "k", "v"}) ledger.check(name, expected[name], part(full_trace, name, head * 10, 10));
    check_chain(ledger, "full", expected["full"], full_trace, head);
    check_chain(ledger, "unscaled", expected["unscaled"], unscaled_trace, head);
    check_chain(ledger, "causal", expected["causal"], causal_trace, head);
  }
  const Json& prints = file["page_prints"];
  ledger.check_print("sigma_last", prints["sigma_last"], part(full_trace, "sigma", 4, 1), 3);
  ledger.check_print("u_last", prints["u_last"], part(full_trace, "u", 16, 4), 3);
  ledger.check_print("q_last_head1", prints["q_last_head1"], part(full_trace, "q", 8, 2), 3);
  ledger.check_print("weights_last", prints["weights_last"], part(full_trace, "p", 20, 5), 3);
  ledger.check_print("unscaled", prints["weights_last_unscaled"], part(unscaled_trace, "p", 20, 5), 3);
  ledger.check_print("weight_first_on_climb", prints["weight_first_on_climb"], part(full_trace, "p", 2, 1), 2);
  const std::vector<double> last = part(full_trace, "p", 22, 2);
  ledger.check_print("share_of_climb_and_ed", prints["share_of_climb_and_ed"], {last[0] + last[1]}, 2);
  ledger.expect_all(file);
}

TEST(Lesson, the_merged_heads_of_running_stand_beside_each_other) {
  const Json file = lesson("running");
  const Trace trace = running(file, {});
  const std::vector<double> merged = all(trace, "merged");
  ASSERT_EQ(merged.size(), 20u);
  for (std::size_t token = 0; token < 5; ++token)
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t c = 0; c < 2; ++c)
        EXPECT_NEAR(merged[token * 4 + head * 2 + c], file["heads"][head]["full"]["output"][token][c].get<double>(),
                    kTolerance);
}

struct BackwardCase {
  Array q, k, v, d_o;
  double loss() const {
    const auto result = reference::attention_forward({q.view(), k.view(), v.view()});
    EXPECT_TRUE(result.is_ok());
    double sum = 0;
    for (std::size_t i = 0; i < d_o.values.size(); ++i) sum += d_o.values[i] * result->o.data<double>()[i];
    return sum;
  }
};

// The largest distance of `gradient` from central differences of the loss along `input`, an array of `c`.
double largest_error(const BackwardCase& c, Array& input, const std::vector<double>& gradient) {
  constexpr double kStep = 1e-6;
  double largest = 0;
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const double here = input.values[i];
    input.values[i] = here + kStep;
    const double above = c.loss();
    input.values[i] = here - kStep;
    const double below = c.loss();
    input.values[i] = here;
    largest = std::max(largest, std::abs((above - below) / (2 * kStep) - gradient[i]));
  }
  return largest;
}

TEST(Lesson, backward_gives_every_number_of_the_file) {
  const Json file = lesson("backward");
  BackwardCase c{array(file["q"]), array(file["k"]), array(file["v"]), array(file["d_output"])};
  Trace trace;
  const auto result = reference::attention_backward({c.q.view(), c.k.view(), c.v.view()}, c.d_o.view(), {}, {}, &trace);
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  Ledger ledger;
  for (const char* given : {"q", "k", "v", "d_output"}) ledger.count_given(file[given]);
  ledger.check("scale", file["scale"], {0.5});
  check_chain(ledger, "forward", file["forward"], trace, 0);
  ledger.check("d_weights", file["d_weights"], all(trace, "dp"));
  ledger.check("d_scores", file["d_scores"], all(trace, "ds"));
  for (const char* name : {"dq", "dk", "dv"}) ledger.check(name, file[name], all(trace, name));
  const std::vector<double> ds = all(trace, "ds");
  ledger.check("row sums", file["row_sums_of_d_scores"],
               {ds[0] + ds[1] + ds[2], ds[3] + ds[4] + ds[5], ds[6] + ds[7] + ds[8]}, 1e-15);
  const Json& prints = file["page_prints"];
  ledger.check_print("weights", prints["weights"], all(trace, "p"), 3);
  ledger.check_print("dq", prints["dq"], all(trace, "dq"), 3);

  // The error of a difference is rounding, so only its size can be promised.
  EXPECT_LE(largest_error(c, c.q, numbers(result->dq)), 1e-9);
  EXPECT_LE(largest_error(c, c.k, numbers(result->dk)), 1e-9);
  EXPECT_LE(largest_error(c, c.v, numbers(result->dv)), 1e-9);
  ledger.count_given(prints["max_error_against_differences"]);
  ledger.expect_all(file);
}

}  // namespace
}  // namespace qkv
