// Figures made from rounds, their way through JSON, and what counts as a change.
#include "bench/record.h"

#include <gtest/gtest.h>

#include "bench/compare_records.h"
#include "bench/record_json.h"
#include "bench/statistics.h"

namespace qkv::bench {
namespace {

// Rounds of 1, 2 and 4 ms of 1e6 flops beside a ceiling of 2e9.
Record example() {
  Record record;
  record.problem = "attention B1 H1 T5 D2";
  record.threads_ran = 1;
  record.target = Target::kAvx2;
  record.calls = 3;
  record.seconds = {1e-3, 4e-3, 2e-3};
  record.wall = {2e-3, 8e-3, 4e-3};
  record.ceiling = {2e9, 2e9, 1e9};
  record.flops = 1e6;
  record.scratch_bytes = 4096;
  record.check = {1e-7, 4, 5, ""};
  return record;
}

TEST(Statistics, one_disturbed_round_moves_no_median) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({1, 2, 3, 1000}), 2.5);
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(relative_spread({5, 5, 5, 1000}), 0);
  EXPECT_NEAR(relative_spread({9, 10, 11, 10}), 1.4826 * 0.5 / 10, 1e-12);
}

TEST(Record, share_is_the_median_of_the_rounds_ratios_and_best_the_ratio_to_the_best_ceiling) {
  const Record record = example();
  EXPECT_DOUBLE_EQ(call_seconds(record), 2e-3);
  EXPECT_DOUBLE_EQ(rate(record), 5e8);
  EXPECT_DOUBLE_EQ(share(record), 0.5);  // of 0.5, 0.125, 0.5
  EXPECT_DOUBLE_EQ(share_of_best(record), 0.25);
}

TEST(Record, a_short_call_s_time_is_the_best_round_s) {
  Record record = example();
  record.seconds = {3e-6, 2e-6, 4e-6};
  EXPECT_DOUBLE_EQ(call_seconds(record), 2e-6);
}

TEST(Record, a_pass_that_moves_bytes_is_rated_by_them) {
  Record record = example();
  record.bytes = 3e6;
  EXPECT_DOUBLE_EQ(rate(record), 1.5e9);
}

TEST(Record, speedup_is_taken_by_the_wall_clock_round_by_round) {
  Record two = example();
  two.wall = {1e-3, 4e-3, 4e-3};
  EXPECT_DOUBLE_EQ(speedup(two, example()), 2);
  two.wall.pop_back();
  EXPECT_EQ(speedup(two, example()), 0);
}

TEST(RecordJson, comes_back_as_it_went) {
  const auto records = records_from_json(to_json({example()}, "a machine"));
  ASSERT_TRUE(records.is_ok()) << records.status().message();
  ASSERT_EQ(records->size(), 1U);
  const Record& got = records->front();
  const Record want = example();
  EXPECT_EQ(got.pass, want.pass);
  EXPECT_EQ(got.problem, want.problem);
  EXPECT_EQ(got.threads, want.threads);
  EXPECT_EQ(got.threads_ran, want.threads_ran);
  EXPECT_EQ(got.target, want.target);
  EXPECT_EQ(got.calls, want.calls);
  EXPECT_EQ(got.seconds, want.seconds);
  EXPECT_EQ(got.wall, want.wall);
  EXPECT_EQ(got.ceiling, want.ceiling);
  EXPECT_EQ(got.flops, want.flops);
  EXPECT_EQ(got.scratch_bytes, want.scratch_bytes);
  EXPECT_EQ(got.check.rows, want.check.rows);
}

TEST(RecordJson, text_that_is_something_else_is_refused_with_the_reason) {
  const auto message = [](const char* text) { return records_from_json(text).status().message(); };
  EXPECT_EQ(message("{"), "it is no JSON");
  EXPECT_NE(message("[]").find("kind 'bench'"), std::string::npos);
  EXPECT_NE(message(R"({"kind": 7, "rows": []})").find("kind 'bench'"), std::string::npos);
  EXPECT_EQ(message(R"({"kind": "bench", "rows": [{"pass": "forward"}]})"), "a row's 'target' is missing");
  EXPECT_EQ(message(R"({"kind": "bench", "rows": [7]})"), "a row's 'pass' is missing");
  std::string text = to_json({example()}, "");
  text.replace(text.find("\"forward\""), 9, "\"sideways\"");
  EXPECT_NE(message(text.c_str()).find("there is no pass 'sideways'"), std::string::npos);
}

TEST(Change, a_slower_machine_changes_nothing_and_a_faster_call_does) {
  Record now = example();
  for (double& value : now.seconds) value *= 3;
  for (double& value : now.ceiling) value /= 3;
  auto change = change_of(now, {example()});
  ASSERT_TRUE(change.has_value());
  EXPECT_DOUBLE_EQ(change->ratio, 1);
  EXPECT_FALSE(change->is_clear());
  now.ceiling = example().ceiling;
  now.seconds = {1e-4, 1e-4, 1e-4};
  change = change_of(now, {example()});
  ASSERT_TRUE(change.has_value());
  EXPECT_GT(change->ratio, 2);
}

TEST(Change, another_row_is_no_row_to_compare_with) {
  Record other = example();
  other.threads = 2;
  EXPECT_FALSE(change_of(example(), {other}).has_value());
  other = example();
  other.target = Target::kAvx512;
  EXPECT_FALSE(change_of(example(), {other}).has_value());
  EXPECT_FALSE(change_of(example(), {}).has_value());
}

TEST(Change, a_difference_inside_the_noise_is_not_clear) {
  EXPECT_FALSE((Change{1.02, 0.02}.is_clear()));
  EXPECT_TRUE((Change{1.05, 0.02}.is_clear()));
  EXPECT_TRUE((Change{0.9, 0.02}.is_clear()));
}

}  // namespace
}  // namespace qkv::bench
