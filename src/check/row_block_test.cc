// A run of rows must be what the whole is at those rows, under every option that there is.
#include "src/check/row_block.h"

#include <gtest/gtest.h>

#include "src/check/bounds.h"
#include "src/check/generate.h"

namespace qkv::check {
namespace {

const char* const kProblems[] = {
    "attention B2 H4/2 T9 D5/3",
    "attention B2 H4/2 T9 D5 causal",
    "attention B2 H4/2 T6x11 D5 causal=bottom_right window=3,0 slopes sinks",
    "attention B2 H2 T6x11 D5 causal=offset:2 softcap=3 scale=0.7",
    "attention B2 H2 T6x11 D5 causal=bottom_right lengths=7,11",
    "attention B2 H4 T9 D5 window=2,1 keep=4x9x9 key_mask bias=2x1x1x9 f64",
    "attention B2 H4 T9 D5 bthd bf16",
};

TEST(RowBlock, has_the_rows_of_the_whole) {
  for (const char* line : kProblems) {
    const Case made = generate(parse_problem(line).value()).value();
    const auto whole = reference::attention_forward(made.inputs(), made.options()).value();
    const AttentionShape shape = check_attention(made.inputs(), made.options(), TypeRule::kAnyFloating).value();
    for (std::int64_t batch = 0; batch < shape.batch; ++batch)
      for (std::int64_t head = 0; head < shape.query_heads; ++head) {
        const RowRun run{batch, head, 2, 3};
        const RowBlock block = row_block(shape, made.inputs(), made.options(), run);
        const auto rows = reference::attention_forward(block.inputs, block.options);
        ASSERT_TRUE(rows.is_ok()) << line << ": " << rows.status().message();
        const auto verdict = compare(rows->o.view(), rows_of(whole.o.view(), run), {});
        ASSERT_TRUE(verdict.is_ok());
        EXPECT_EQ(verdict->largest_error, 0) << line << ", head " << head;
      }
  }
}

// o as the reference has it, in f32.
Tensor right_output(const Case& made) {
  return converted(reference::attention_forward(made.inputs(), made.options())->o.view(), DType::kF32).value();
}

TEST(JudgeRows, a_short_case_is_judged_whole) {
  const Case made = generate(parse_problem("attention B2 H2 T9 D5 causal").value()).value();
  Tensor o = right_output(made);
  auto verdict = judge_rows(made.inputs(), made.options(), {o.view(), {}});
  ASSERT_TRUE(verdict.is_ok());
  EXPECT_TRUE(verdict->passed) << verdict->failure;
  EXPECT_EQ(verdict->rows, 36);
  o.data<float>()[100] += 0.01F;
  EXPECT_FALSE(judge_rows(made.inputs(), made.options(), {o.view(), {}})->passed);
}

TEST(JudgeRows, a_long_case_is_judged_at_its_start_middle_and_end) {
  const Case made = generate(parse_problem("attention B2 H3 T40 D4 causal").value()).value();
  const Tensor right = right_output(made);
  const double work = 24.0 * 40 * 8;  // two rows a run
  for (const std::int64_t row : {0, 1, 19, 20, 38, 39}) {
    Tensor o = converted(right.view(), DType::kF32).value();
    auto verdict = judge_rows(made.inputs(), made.options(), {o.view(), {}}, work);
    EXPECT_TRUE(verdict->passed) << verdict->failure;
    EXPECT_EQ(verdict->rows, 24);
    EXPECT_EQ(verdict->of_rows, 240);
    o.data<float>()[(5 * 40 + row) * 4] += 0.01F;  // of the last head
    verdict = judge_rows(made.inputs(), made.options(), {o.view(), {}}, work);
    EXPECT_FALSE(verdict->passed) << row;
    EXPECT_NE(verdict->failure.find("batch 1, head 2"), std::string::npos) << verdict->failure;
  }
}

}  // namespace
}  // namespace qkv::check
