// The streamed statistics against those of the whole float64 matrix, on every target; and what they mean, on weights
// that are known.
#include "qkv/survey.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

SurveyInputs inputs_of(const check::Case& c) { return {c.q.view, c.k.view, {}, {}}; }

// `tolerance` of a mean, by the type: the numbers of f16 and bf16 are exact in f32, so theirs is that of f32.
void expect_near(const std::string& where, const HeadStatistics& found, const HeadStatistics& want, double tolerance) {
  EXPECT_EQ(found.rows, want.rows) << where;
  EXPECT_EQ(found.not_finite, want.not_finite) << where;
  for (const StatisticInfo& info : statistics_of_heads()) {
    const double a = found.*info.value, b = want.*info.value;
    EXPECT_EQ(std::isnan(a), std::isnan(b)) << where << ": " << info.name << " " << a << ", want " << b;
    if (std::isnan(b)) continue;
    EXPECT_NEAR(a, b, tolerance * (1 + std::fabs(b))) << where << ": " << info.name;
  }
  for (std::size_t bin = 0; bin < found.distances.size(); ++bin)
    if (!std::isnan(want.distances[bin])) {
      EXPECT_NEAR(found.distances[bin], want.distances[bin], tolerance) << where << ": bin " << bin;
    }
}

void expect_as_reference(const std::string& name, const SurveyInputs& inputs, const AttentionOptions& options) {
  const auto want = reference::survey(inputs, options);
  ASSERT_TRUE(want.is_ok()) << name << ": " << want.status().message();
  for (const Target target : available_targets()) {
    const auto found = survey(inputs, options, on(target));
    const std::string where = name + " on " + std::string(to_string(target));
    ASSERT_TRUE(found.is_ok()) << where << ": " << found.status().message();
    ASSERT_EQ(found->size(), want->size()) << where;
    const double tolerance = inputs.q.dtype == DType::kF64 ? 1e-11 : 5e-6;
    for (std::size_t head = 0; head < want->size(); ++head) EXPECT_EQ((*found)[head].batch, (*want)[head].batch);
    for (std::size_t head = 0; head < want->size(); ++head)
      expect_near(where + ", head " + std::to_string(head), (*found)[head], (*want)[head], tolerance);
  }
}

void expect_right(const std::string& line) {
  const check::Case c = case_of(line);
  expect_as_reference(line, inputs_of(c), c.options());
}

const char* const kTypes[] = {"", " f64", " bf16", " f16"};

TEST(Survey, agrees_with_float64_at_every_length) {
  for (const char* type : kTypes)
    for (const char* lengths : {"T1", "T2", "T5x7", "T47", "T48", "T49", "T129", "T130x257", "T300x129"})
      expect_right("attention B2 H4/2 " + std::string(lengths) + " D8/5" + type);
}

TEST(Survey, agrees_with_float64_under_every_mask) {
  for (const char* type : kTypes)
    for (const char* mask :
         {" causal=top_left", " causal=bottom_right", " causal=offset:3", " window=5,0 corner=bottom_right",
          " window=3,-1 corner=top_left", " keep=70x130", " keep=1x130", " key_mask", " lengths=50,0",
          " causal=bottom_right keep=70x130", " bias=70x130", " bias=1x130 causal=top_left"})
      expect_right("attention B2 H4/2 T70x130 D16" + std::string(mask) + type);
}

TEST(Survey, agrees_with_float64_under_softcap_sinks_slopes_and_scales) {
  for (const char* type : kTypes)
    for (const char* terms : {" softcap=2", " sinks", " sinks causal=bottom_right", " slopes corner=bottom_right",
                              " scale=0", " scale=-1", " scale=4", " softcap=5 sinks slopes corner=top_left"})
      expect_right("attention B2 H4/2 T70x130 D16" + std::string(terms) + type);
}

TEST(Survey, agrees_with_float64_in_packed_sequences) {
  for (const char* rest : {"", " causal=top_left"})
    expect_right("attention H2 T60x90 D8 cu_q=0,20,20,60 cu_k=0,20,21,90" + std::string(rest));
}

TEST(Survey, batch_entries_apart_are_those_of_each_alone) {
  const check::Case c = case_of("attention B3 H2 T40 D8 causal=top_left");
  SurveyInputs inputs = inputs_of(c);
  inputs.batches = BatchEntries::kApart;
  expect_as_reference("apart", inputs, c.options());
  const auto found = must(survey(inputs, c.options()), "apart");
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[4].batch, 2);
  EXPECT_EQ(found[4].head, 0);
  EXPECT_EQ(found[4].sink_batch, 2);
}

// q and k of one head from plain numbers.
struct OneHead {
  OneHead(std::int64_t rows, std::int64_t columns, std::vector<float> queries, std::vector<float> keys)
      : q(std::move(queries)), k(std::move(keys)), n(rows), width(columns) {}
  SurveyInputs inputs() const {
    SurveyInputs out;
    out.q = View<const float>(q.data(), {1, 1, n, width});
    out.k = View<const float>(k.data(), {1, 1, n, width});
    if (!tokens.empty()) out.tokens = View<const std::int64_t>(tokens.data(), {1, n});
    return out;
  }
  std::vector<float> q, k;
  std::int64_t n, width;
  std::vector<std::int64_t> tokens;
};

// Query i looks for key target(i) and nothing else: both are the same unit vector, times a large number.
OneHead looking_at(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& target) {
  const auto size = static_cast<std::size_t>(n * n);
  std::vector<float> q(size), k(size);
  for (std::int64_t i = 0; i < n; ++i) {
    q[static_cast<std::size_t>(i * n + target(i))] = 1000;
    k[static_cast<std::size_t>(i * n + i)] = 1;
  }
  return {n, n, std::move(q), std::move(k)};
}

HeadStatistics surveyed(const OneHead& head, const AttentionOptions& options = {}) {
  AttentionOptions with_scale = options;
  with_scale.scale = 1;
  return must(survey(head.inputs(), with_scale), "survey").front();
}

TEST(Survey, knows_a_head_that_looks_at_the_token_before) {
  const HeadStatistics found =
      surveyed(looking_at(20, [](std::int64_t i) { return std::max<std::int64_t>(i - 1, 0); }));
  EXPECT_NEAR(found.previous, 19.0 / 20, 1e-6);
  EXPECT_NEAR(found.self, 1.0 / 20, 1e-6);
  EXPECT_NEAR(found.distances[1], 19.0 / 20, 1e-6);
  EXPECT_NEAR(found.saturation, 1, 1e-6);
  EXPECT_NEAR(found.gradient, 0, 1e-6);
  EXPECT_NEAR(found.entropy, 0, 1e-6);
  EXPECT_EQ(pattern_of(found), HeadPattern::kPrevious);
}

TEST(Survey, what_follows_a_token_itself_is_no_induction_in_words) {
  OneHead head = looking_at(20, [](std::int64_t i) { return std::min<std::int64_t>(i + 1, 19); });
  for (std::int64_t i = 0; i < 20; ++i) head.tokens.push_back(i);
  const HeadStatistics found = surveyed(head);
  EXPECT_NEAR(found.next, 19.0 / 20, 1e-6);
  EXPECT_NEAR(found.induction, 19.0 / 20, 1e-6);
  const std::string text = description_of(found);
  EXPECT_NE(text.find("0.95 on the token after"), std::string::npos) << text;
  EXPECT_EQ(text.find("induction"), std::string::npos) << text;
}

// Part 7 of the lesson draws scores by four functions; a head of each has that name.
TEST(Survey, the_four_functions_of_the_lesson_are_told_apart) {
  const std::int64_t n = 200, width = 64;
  const check::Case noise = case_of("attention T200 D64");
  struct Function {
    HeadPattern pattern;
    double previous, near;  // what is added where the key is the one before, and for each token of distance
  };
  for (const Function& function : {Function{HeadPattern::kContent, 0, 0}, Function{HeadPattern::kPrevious, 7, 0},
                                   Function{HeadPattern::kDistance, 0, 0.05}, Function{HeadPattern::kMix, 4.6, 0}}) {
    std::vector<float> bias(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        bias[static_cast<std::size_t>(i * n + j)] = static_cast<float>(
            (j == i - 1 ? function.previous : 0) - function.near * static_cast<double>(std::abs(i - j)));
    AttentionOptions options;
    options.bias = View<const float>(bias.data(), {n, n});
    options.scale = 1.0 / std::sqrt(static_cast<double>(width));
    const HeadStatistics found = must(survey(inputs_of(noise), options), "survey").front();
    EXPECT_EQ(to_string(pattern_of(found)), to_string(function.pattern)) << description_of(found);
  }
}

TEST(Survey, knows_the_key_that_takes_most) {
  const HeadStatistics found = surveyed(looking_at(20, [](std::int64_t) { return 7; }));
  EXPECT_NEAR(found.sink, 1, 1e-6);
  EXPECT_EQ(found.sink_key, 7);
  EXPECT_EQ(found.sink_batch, 0);
  EXPECT_NEAR(found.first_key, 0, 1e-6);
}

TEST(Survey, a_key_that_only_a_lonely_row_sees_takes_nothing) {
  AttentionOptions causal;  // row 0 sees key 0 alone: it is in no mean
  causal.causality = Causality::kCausal;
  const HeadStatistics found = surveyed(looking_at(20, [](std::int64_t i) { return i; }), causal);
  EXPECT_EQ(found.rows, 19);
  EXPECT_NEAR(found.first_key, 0, 1e-6);
  EXPECT_NE(found.sink_key, 0);
}

TEST(Survey, equal_weights_have_all_the_entropy_and_half_the_distance_is_known) {
  const std::int64_t n = 100;
  const HeadStatistics found = surveyed({n, 4, std::vector<float>(4 * n, 0.f), std::vector<float>(4 * n, 1.f)});
  EXPECT_NEAR(found.entropy, std::log(100.0), 1e-5);
  EXPECT_NEAR(found.relative_entropy, 1, 3e-6);
  EXPECT_NEAR(found.distance, static_cast<double>(n * n - 1) / (3.0 * static_cast<double>(n)), 1e-3);
  EXPECT_NEAR(found.relative_distance, 1, 1e-5);
  EXPECT_EQ(pattern_of(found), HeadPattern::kEven);
}

TEST(Survey, duplicates_and_induction_need_the_tokens) {
  // a b c a b c: every query of the second half looks at what followed its token the first time.
  OneHead head = looking_at(6, [](std::int64_t i) { return i >= 3 ? i - 2 : i; });
  EXPECT_TRUE(std::isnan(surveyed(head).induction));
  head.tokens = {1, 2, 3, 1, 2, 3};
  EXPECT_NEAR(surveyed(head).induction, 0.5, 1e-6);
  EXPECT_NEAR(surveyed(head).duplicate, 0, 1e-6);
  head.q = looking_at(6, [](std::int64_t i) { return i >= 3 ? i - 3 : i; }).q;
  EXPECT_NEAR(surveyed(head).duplicate, 0.5, 1e-6);
}

TEST(Survey, tokens_of_random_text_agree_with_float64) {
  check::Case c = case_of("attention B2 H2 T90 D8 causal=top_left");
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 180; ++i) ids.push_back(i * i % 7);
  SurveyInputs inputs = inputs_of(c);
  inputs.tokens = View<const std::int64_t>(ids.data(), {2, 90});
  expect_as_reference("tokens", inputs, c.options());
  std::vector<std::int32_t> narrow(ids.begin(), ids.end());
  inputs.tokens = View<const std::int32_t>(narrow.data(), {2, 90});
  expect_as_reference("tokens of 32 bits", inputs, c.options());
}

TEST(Survey, a_step_of_decode_knows_where_its_query_stands) {
  check::Case c = case_of("attention H2 T3x40 D8");
  SurveyInputs inputs = inputs_of(c);
  EXPECT_TRUE(std::isnan(must(survey(inputs, c.options()), "unknown").front().previous));
  inputs.query_start = 37;
  expect_as_reference("decode", inputs, c.options());
  const double previous = must(survey(inputs, c.options()), "known").front().previous;
  AttentionOptions causal = c.options();
  causal.window = {100, 100};
  causal.corner = Corner::kBottomRight;
  EXPECT_NEAR(must(survey(inputs_of(c), causal), "corner").front().previous, previous, 1e-6);
}

TEST(Survey, padding_is_no_query_and_no_first_key) {
  // Two texts of 3 and 5 tokens in a batch of 8 columns, the first padded on the left, the second on the right.
  const std::int64_t n = 8;
  const check::Case c = case_of("attention B2 H2 T8 D8");
  std::vector<std::uint8_t> mask = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0};
  AttentionOptions options = c.options();
  options.key_mask = View<const std::uint8_t>(mask.data(), {2, n});
  SurveyInputs inputs = inputs_of(c);
  expect_as_reference("padding", inputs, options);
  inputs.batches = BatchEntries::kApart;
  const auto apart = must(survey(inputs, options), "apart");
  EXPECT_EQ(apart[0].rows, 3);
  EXPECT_EQ(apart[2].rows, 5);
  // The same tokens without their padding.
  const auto tokens = [&](View<const void> view, std::int64_t batch, std::int64_t begin, std::int64_t count) {
    const std::int64_t at = batch * view.strides[0] + begin * view.strides[2];
    return View<const void>(static_cast<const float*>(view.data) + at, DType::kF32, {1, 2, count, 8}, view.strides);
  };
  for (const auto& [batch, begin, count] : {std::tuple(0, 5, 3), std::tuple(1, 0, 5)}) {
    SurveyInputs alone;
    alone.q = tokens(c.q.view, batch, begin, count);
    alone.k = tokens(c.k.view, batch, begin, count);
    const HeadStatistics want = must(survey(alone), "alone").front();
    const HeadStatistics& found = apart[static_cast<std::size_t>(2 * batch)];
    for (const StatisticInfo& info : statistics_of_heads()) {
      if (std::isnan(want.*info.value)) continue;
      EXPECT_NEAR(found.*info.value, want.*info.value, 1e-6) << info.name;
    }
  }
  std::vector<std::int64_t> lengths = {3, 5};
  options.key_mask = {};
  options.key_lengths = lengths;
  expect_as_reference("lengths", inputs, options);
  EXPECT_EQ(must(survey(inputs, options), "lengths")[0].rows, 3);
}

TEST(Survey, keys_of_another_sequence_have_no_positions) {
  const check::Case c = case_of("attention H2 T9 D8");
  SurveyInputs inputs = inputs_of(c);
  EXPECT_FALSE(std::isnan(must(survey(inputs), "self").front().previous));
  inputs.is_cross = true;
  expect_as_reference("cross", inputs, c.options());
  EXPECT_TRUE(std::isnan(must(survey(inputs), "cross").front().previous));
}

TEST(Survey, a_head_that_rests_on_the_first_key_or_looks_at_the_next_is_called_so) {
  EXPECT_EQ(pattern_of(surveyed(looking_at(20, [](std::int64_t) { return 0; }))), HeadPattern::kFirst);
  const HeadStatistics next =
      surveyed(looking_at(20, [](std::int64_t i) { return std::min<std::int64_t>(i + 1, 19); }));
  EXPECT_EQ(pattern_of(next), HeadPattern::kNext);
  EXPECT_EQ(description_of(next).find("next token: 0.95 on the token after"), 0U);
}

TEST(Survey, rows_that_are_not_finite_are_counted_and_left_out) {
  OneHead head = looking_at(10, [](std::int64_t i) { return i; });
  head.q[5 * 10 + 3] = std::numeric_limits<float>::quiet_NaN();
  const HeadStatistics found = surveyed(head);
  EXPECT_EQ(found.not_finite, 1);
  EXPECT_EQ(found.rows, 9);
  EXPECT_NEAR(found.self, 1, 1e-6);
  EXPECT_TRUE(std::isfinite(found.sink));
}

TEST(Survey, scores_of_any_size_keep_their_mass) {
  check::Case c = case_of("attention H2 T60 D8 scale=3000");
  expect_as_reference("large scores", inputs_of(c), c.options());
}

TEST(Survey, the_same_bits_for_any_number_of_threads) {
  const check::Case c = case_of("attention B2 H4/2 T500 D16 causal=top_left");
  const auto one = must(survey(inputs_of(c), c.options(), {.threads = 1}), "one");
  const auto three = must(survey(inputs_of(c), c.options(), {.threads = 3}), "three");
  for (std::size_t head = 0; head < one.size(); ++head)
    for (const StatisticInfo& info : statistics_of_heads()) {
      const double a = one[head].*info.value, b = three[head].*info.value;
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << info.name;
    }
}

TEST(Survey, can_be_stopped_and_tells_how_far_it_is) {
  const check::Case c = case_of("attention H4 T300 D16");
  std::int64_t last = 0;
  Execution execution;
  execution.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_LE(last, done);
    EXPECT_LE(done, total);
    last = done;
    return true;
  };
  EXPECT_TRUE(survey(inputs_of(c), c.options(), execution).is_ok());
  execution.progress = [](std::int64_t done, std::int64_t total) { return done < total / 2; };
  EXPECT_EQ(survey(inputs_of(c), c.options(), execution).code(), StatusCode::kCancelled);
}

TEST(Survey, refuses_tokens_that_do_not_fit) {
  check::Case c = case_of("attention B2 H2 T9 D8");
  SurveyInputs inputs = inputs_of(c);
  const std::vector<std::int64_t> ids(16);
  inputs.tokens = View<const std::int64_t>(ids.data(), {2, 8});
  EXPECT_EQ(survey(inputs).status().message(), "survey: tokens [B,Tk] is [2,8]; expected [2,9]");
  inputs.tokens = c.q.view;
  EXPECT_EQ(survey(inputs).status().message(), "survey: tokens are f32; expected i64 or i32");
}

TEST(Survey, nothing_to_see_is_unknown_not_zero) {
  const check::Case c = case_of("attention H2 T5x0 D8");
  const HeadStatistics found = must(survey(inputs_of(c), c.options()), "empty").front();
  EXPECT_EQ(found.rows, 0);
  EXPECT_TRUE(std::isnan(found.entropy));
  EXPECT_EQ(pattern_of(found), HeadPattern::kUnknown);
}

}  // namespace
}  // namespace qkv
