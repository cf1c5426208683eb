// attention_decode against the float64 reference: every type, mask, stride and form of cache on every target.
#include <gtest/gtest.h>

#include "src/check/random_problem.h"
#include "tests/decode_testing.h"

namespace qkv {
namespace {

// What each form of cache gives on every target is right, and the same bits in all of them; the cache then holds the
// new tokens and nothing else has changed.
void expect_decode_right(const std::string& line, const check::GenerateOptions& options = {}) {
  const check::Case c = case_of(line, options);
  const check::ForwardExpectation expectation =
      must(check::expect_forward(c.inputs(), forward_options(c), check::output_type(c.problem)), line);
  for (const Target target : available_targets()) {
    std::vector<unsigned char> first_o[2], first_lse[2];
    for (const CacheForm& form : all_forms()) {
      // Masks and biases are as long as the pages together.
      if (form.page > 0 && c.problem.key_length % form.page != 0) continue;
      TestCache cache = make_cache(c, form, options.placement);
      const Ran ran = run_decode(c, cache, form, on(target), options.placement);
      const std::string where = line + " on " + std::string(to_string(target)) + ", " + to_string(form);
      const check::ForwardVerdict verdict = must(check::judge(expectation, ran.outputs.o.view, ran.outputs.lse.view));
      EXPECT_TRUE(verdict.passed()) << where << "\n" << to_string(verdict);
      EXPECT_TRUE(check::surroundings_are_intact(ran.outputs.o)) << where;
      EXPECT_TRUE(check::surroundings_are_intact(ran.outputs.lse)) << where;
      EXPECT_EQ(ran.report.target, target);
      // From 32 new tokens on, a contiguous cache is read by the forward pass.
      const int way = c.problem.query_length >= 32 && form.page == 0 ? 1 : 0;
      if (first_o[way].empty()) {
        first_o[way] = ran.o_bits();
        first_lse[way] = ran.lse_bits();
      }
      EXPECT_EQ(ran.o_bits(), first_o[way]) << where;
      EXPECT_EQ(ran.lse_bits(), first_lse[way]) << where;
      CacheForm filled = form;  // the same cache with all tokens in it from the start
      filled.appends = false;
      TestCache want = make_cache(c, filled, options.placement);
      EXPECT_EQ(cache.lengths, want.lengths) << where;
      EXPECT_EQ(bits_of(cache.k.memory.view()), bits_of(want.k.memory.view())) << where;
      EXPECT_EQ(bits_of(cache.v.memory.view()), bits_of(want.v.memory.view())) << where;
    }
  }
}

constexpr const char* kTypes[] = {" f32", " f64", " bf16", " f16", " bf16 out=f32"};

TEST(AttentionDecode, one_query_is_right_in_every_type_and_width) {
  for (const char* type : kTypes)
    for (const char* shape :
         {"H4/1 T1x70 D16", "B2 H8/2 T1x130 D64 lengths=130,77", "H3 T1x5 D7/11",
          "B3 H6/2 T1x90 D40/24 lengths=1,90,64", "H2 T1x33 D1", "H5/1 T1x40 D48/80", "H1 T1x17 D33/59"})
      expect_decode_right(std::string("attention ") + shape + type);
}

TEST(AttentionDecode, every_number_of_rows_is_right) {
  for (const char* type : {" f32", " bf16", " f64"})
    for (const char* shape :
         {"H1 T2x40 D32", "H2/1 T1x40 D32", "H3/1 T1x40 D32", "H4/2 T3x40 D32", "H5/1 T1x40 D32", "H6/1 T1x40 D32",
          "H7/1 T1x40 D32", "H2/1 T9x40 D32", "H3/1 T11x40 D32", "H40/1 T1x40 D32", "H2 T40 D32", "H4/2 T70x90 D16/32"})
      expect_decode_right(std::string("attention ") + shape + type);
}

TEST(AttentionDecode, long_sequences_in_several_chunks_are_right) {
  // Chunks begin at 64 keys for these widths.
  expect_decode_right("attention H2/1 T1x700 D1024 f32");
  expect_decode_right("attention B2 H4/2 T3x400 D768/512 lengths=400,129 bf16");
  expect_decode_right("attention H2/1 T1x300 D1024/1100 f64");
  expect_decode_right("attention H36/1 T2x300 D1024 f16");
}

TEST(AttentionDecode, every_mask_and_term_is_right) {
  check::GenerateOptions options;
  options.hidden_bias = 0.3;
  for (const char* type : {" f32", " bf16", " f64"})
    for (const char* words : {"T1x96 key_mask",
                              "T3x96 key_mask",
                              "T1x96 keep=96",
                              "T5x96 keep=5x96",
                              "T5x96 keep=2x4x1x96",
                              "T1x96 bias=96",
                              "T5x96 bias=4x5x96",
                              "T5x96 bias=2x1x5x1 softcap=2",
                              "T1x96 softcap=3",
                              "T4x96 slopes",
                              "T1x96 sinks",
                              "T4x96 sinks slopes softcap=2 keep=4x96 bias=1x96 key_mask",
                              "T1x96 window=9,0",
                              "T6x96 window=3,0",
                              "T6x96 window=70,-1 slopes",
                              "T6x96 window=2,5 key_mask",
                              "T1x96 window=0,0",
                              "T2x96 scale=0",
                              "T2x96 scale=-0.7",
                              "T2x96 scale=3 sinks"}) {
      expect_decode_right("attention B2 H4/2 D16/32 causal=bottom_right lengths=70,41 " + std::string(words) + type,
                          options);
      expect_decode_right("attention B2 H4/2 D9/7 causal=bottom_right lengths=8,96 " + std::string(words) + type,
                          options);
    }
}

TEST(AttentionDecode, every_layout_and_stride_is_right) {
  for (const char* type : {" f32", " bf16", " f16", " f64"})
    for (const check::Placement& placement : {check::Placement{.last_stride = 2},
                                              {.row_gap = 5},
                                              {.shift = 1},
                                              {.last_stride = 3, .row_gap = 1, .shift = 3}})
      for (const char* layout : {"", " bthd"}) {
        check::GenerateOptions options;
        options.placement = placement;
        options.placement.layout = *layout == 0 ? Layout::kBHTD : Layout::kBTHD;
        expect_decode_right(std::string("attention B2 H4/2 T2x50 D32/16 lengths=50,20") + type + layout, options);
        expect_decode_right(std::string("attention B1 H2/1 T1x20 D5/3") + type + layout, options);
      }
}

TEST(AttentionDecode, scores_as_large_as_the_type_are_right) {
  for (const Target target : available_targets())
    for (const double size : {1e-30, 1e17, 3e18})
      for (const double scale : {1.0, 1e-20, 1e30, 1e-38}) {
        check::Case c = case_of("attention H2/1 T1x40 D16");
        for (std::int64_t at = 0; at < 32; ++at) set_element(c.q.view, at, size * (at % 3 == 0 ? -1.0 : 0.5));
        for (std::int64_t at = 0; at < std::int64_t{40} * 16; ++at)
          set_element(c.k.view, at, size / 16 * static_cast<double>((at * 7) % 5 - 2));
        c.problem.scale = scale;
        if (size * size * scale > 1e37) continue;
        const check::ForwardExpectation expectation =
            must(check::expect_forward(c.inputs(), forward_options(c), DType::kF32));
        const CacheForm form;
        TestCache cache = make_cache(c, form);
        const Ran ran = run_decode(c, cache, form, on(target));
        // Scores of 1e30 are exact to their last bit only: what is held to is which keys win.
        for (std::int64_t at = 0; at < 32; ++at)
          EXPECT_NEAR(element_as_double(ran.outputs.o.view, at), expectation.want.o.data<double>()[at], 1e-5)
              << size << " " << scale << " on " << to_string(target);
      }
}

TEST(AttentionDecode, empty_rows_and_empty_batches_are_right) {
  expect_decode_right("attention B3 H4/2 T2x9 D8 lengths=2,9,5 key_mask");
  for (const Target target : available_targets()) {
    const check::Case c = case_of("attention B2 H2/1 T3x9 D8");  // sequences shorter than the queries
    const CacheForm form{0, DType::kF32, false};
    TestCache cache = make_cache(c, form);
    cache.lengths = {0, 2};
    const Ran ran = run_decode(c, cache, form, on(target));
    for (std::int64_t head = 0; head < 4; ++head)
      for (std::int64_t i = 0; i < 3; ++i) {
        const bool empty = head < 2 || i == 0;  // batch 0 has no token, query 0 of batch 1 stands in front of them
        const double lse = element_as_double(ran.outputs.lse.view, head * 3 + i);
        EXPECT_EQ(std::isinf(lse), empty);
        if (empty) {
          EXPECT_EQ(element_as_double(ran.outputs.o.view, (head * 3 + i) * 8), 0);
        }
      }
  }
  const check::Case none = case_of("attention B0 H2 T1x4 D4");
  const CacheForm form;
  TestCache cache = make_cache(none, form);
  EXPECT_EQ(run_decode(none, cache, form, {}).report.tasks, 0);
}

// Random problems whose queries fit behind a sequence.
TEST(AttentionDecode, random_problems_are_right) {
  std::uint32_t state = 20260512;
  const auto next = [&] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (int done = 0; done < 120;) {
    std::vector<std::uint32_t> row(check::kProblemChoices);
    for (std::uint32_t& choice : row) choice = next();
    Problem problem = check::problem_from_choices(row);
    if (problem.query_length == 0 || problem.query_length > problem.key_length || problem.batch == 0) continue;
    if (problem.query_heads == 0) continue;
    problem.cu_seqlens_q.clear();
    problem.cu_seqlens_k.clear();
    problem.causality = Causality::kCausal;
    problem.corner = Corner::kBottomRight;
    problem.offset = 0;
    problem.backward = problem.dlse = false;
    for (std::int64_t& length : problem.key_lengths) length = std::max(length, problem.query_length);
    check::GenerateOptions options;
    options.hidden_bias = 0.2;
    options.placement.layout = problem.layout;
    expect_decode_right(format(problem), options);
    ++done;
  }
}

}  // namespace
}  // namespace qkv
