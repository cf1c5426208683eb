// Every sentence that attention says about a wrong call, and that such a call writes nothing.
#include "src/core/check_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "qkv/attention.h"
#include "src/core/positions.h"

namespace qkv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A good call, B2 Hq6 Hkv2 Tq3 Tk5 D7 Dv11, that each test spoils in one place.
struct Call {
  std::vector<float> memory = std::vector<float>(4096);  // wide enough for whatever a test points at
  std::vector<float> results = std::vector<float>(4096, 42.0F);
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(4096);
  AttentionInputs inputs;
  AttentionOutputs outputs;
  AttentionOptions options;
  Execution execution;

  Call() {
    inputs.q = input(0, {2, 6, 3, 7});
    inputs.k = input(300, {2, 2, 5, 7});
    inputs.v = input(600, {2, 2, 5, 11});
    outputs.o = View<float>(results.data(), {2, 6, 3, 11});
    outputs.lse = View<float>(results.data() + 1000, {2, 6, 3});
  }
  View<const void> input(std::int64_t at, Dims shape) { return View<const float>(memory.data() + at, shape); }
  View<const void> mask(Dims shape) { return View<const std::uint8_t>(bytes.data(), shape); }
};

struct Mistake {
  const char* name;
  StatusCode code;
  const char* message;
  std::function<void(Call&)> make;
};

constexpr const char* kSeen = " (q [2,6,3,7], k [2,2,5,7], v [2,2,5,11])";
const std::int64_t kThree[] = {0, 3, 5};
const std::int64_t kLengths[] = {4, 5};
const double kSeven[] = {1, 1, 1, 1, 1, 1, 1};
const double kNotFinite[] = {1, 1, 1, kInf, 1, 1};

const Mistake kInputMistakes[] = {
    {"a rank", StatusCode::kShapeMismatch, "attention: k [B,Hkv,Tk,D] needs 4 axes, found 3: [2,5,7] (q [2,6,3,7])",
     [](Call& c) { c.inputs.k = c.input(0, {2, 5, 7}); }},
    {"no q", StatusCode::kShapeMismatch, "attention: q [B,Hq,Tq,D] needs 4 axes, found 0: []",
     [](Call& c) { c.inputs.q = {}; }},
    {"the width of k", StatusCode::kShapeMismatch,
     "attention: k [B,Hkv,Tk,D] is [2,2,5,8], but D is 7 by q [2,6,3,7] (q [2,6,3,7])",
     [](Call& c) { c.inputs.k = c.input(0, {2, 2, 5, 8}); }},
    {"the batch of k", StatusCode::kShapeMismatch,
     "attention: k [B,Hkv,Tk,D] is [3,2,5,7], but B is 2 by q [2,6,3,7] (q [2,6,3,7])",
     [](Call& c) { c.inputs.k = c.input(0, {3, 2, 5, 7}); }},
    {"the length of v", StatusCode::kShapeMismatch,
     "attention: v [B,Hkv,Tk,Dv] is [2,2,4,11], but Tk is 5 by k [2,2,5,7] (q [2,6,3,7], k [2,2,5,7])",
     [](Call& c) { c.inputs.v = c.input(0, {2, 2, 4, 11}); }},
    {"the heads of v", StatusCode::kShapeMismatch,
     "attention: v [B,Hkv,Tk,Dv] is [2,6,5,11], but Hkv is 2 by k [2,2,5,7] (q [2,6,3,7], k [2,2,5,7])",
     [](Call& c) { c.inputs.v = c.input(0, {2, 6, 5, 11}); }},
    {"a negative extent", StatusCode::kShapeMismatch, "attention: q [2,6,-3,7] has a negative extent",
     [](Call& c) { c.inputs.q.shape[2] = -3; }},
    {"heads that do not divide", StatusCode::kShapeMismatch,
     "attention: k has 4 heads, which does not divide q's 6 (q [2,6,3,7], k [2,4,5,7], v [2,4,5,11])",
     [](Call& c) {
       c.inputs.k = c.input(0, {2, 4, 5, 7});
       c.inputs.v = c.input(0, {2, 4, 5, 11});
     }},
    {"no kv heads", StatusCode::kShapeMismatch,
     "attention: k has 0 heads, which does not divide q's 6 (q [2,6,3,7], k [2,0,5,7], v [2,0,5,11])",
     [](Call& c) {
       c.inputs.k = c.input(0, {2, 0, 5, 7});
       c.inputs.v = c.input(0, {2, 0, 5, 11});
     }},
    {"a width of zero", StatusCode::kShapeMismatch,
     "attention: D and Dv must be at least 1 (q [2,6,3,7], k [2,2,5,7], v [2,2,5,0])",
     [](Call& c) { c.inputs.v = c.input(0, {2, 2, 5, 0}); }},
    {"a type that is no float", StatusCode::kShapeMismatch, "attention: k is i32; expected f64, f32, bf16 or f16",
     [](Call& c) { c.inputs.k.dtype = DType::kI32; }},
    {"two types", StatusCode::kShapeMismatch, "attention: v is bf16 but q is f32; convert them to one type first",
     [](Call& c) { c.inputs.v.dtype = DType::kBF16; }},
    {"a negative stride", StatusCode::kShapeMismatch,
     "attention: k has a negative stride [70,35,-7,1]; copy it into forward order first",
     [](Call& c) { c.inputs.k.strides[2] = -7; }},
    {"strides of another rank", StatusCode::kShapeMismatch, "attention: q has shape [2,6,3,7] but strides [7,1]",
     [](Call& c) { c.inputs.q.strides = {7, 1}; }},
    {"more elements than can be counted", StatusCode::kShapeMismatch, "attention: q has more than 2^63 elements",
     [](Call& c) {
       c.inputs.q.shape = {2, 6, std::int64_t{1} << 62, 7};
       c.inputs.q.strides = {0, 0, 0, 1};
     }},
    {"no memory", StatusCode::kShapeMismatch, "attention: v has no memory (a null pointer)",
     [](Call& c) { c.inputs.v.data = nullptr; }},
};

const Mistake kOptionMistakes[] = {
    {"a float keep mask", StatusCode::kShapeMismatch,
     "attention: keep is f32; expected bool (true = may be seen). A float mask to be added is `bias`",
     [](Call& c) { c.options.keep = c.input(0, {3, 5}); }},
    {"a keep mask that does not broadcast", StatusCode::kShapeMismatch,
     "attention: keep [2,5] does not broadcast to [B,Hq,Tq,Tk] = [2,6,3,5]",
     [](Call& c) { c.options.keep = c.mask({2, 5}); }},
    {"a keep mask without memory", StatusCode::kShapeMismatch, "attention: keep has no memory (a null pointer)",
     [](Call& c) {
       c.options.keep = c.mask({3, 5});
       c.options.keep.data = nullptr;
     }},
    {"a boolean bias", StatusCode::kShapeMismatch,
     "attention: bias is u8; expected a floating type. A boolean mask is `keep`",
     [](Call& c) { c.options.bias = c.mask({3, 5}); }},
    {"a bias that does not broadcast", StatusCode::kShapeMismatch,
     "attention: bias [2,3,5] does not broadcast to [B,Hq,Tq,Tk] = [2,6,3,5]",
     [](Call& c) { c.options.bias = c.input(0, {2, 3, 5}); }},
    {"a bias with a negative stride", StatusCode::kShapeMismatch,
     "attention: bias has a negative stride [-5,1]; copy it into forward order first",
     [](Call& c) {
       c.options.bias = c.input(0, {3, 5});
       c.options.bias.strides = {-5, 1};
     }},
    {"a float key mask", StatusCode::kShapeMismatch,
     "attention: key_mask is f32; expected bool (true = may be seen). A float mask to be added is `bias`",
     [](Call& c) { c.options.key_mask = c.input(0, {2, 5}); }},
    {"a key mask of rows", StatusCode::kShapeMismatch,
     "attention: key_mask [B,Tk] is [2,3], but Tk is 5 by k [2,2,5,7]",
     [](Call& c) { c.options.key_mask = c.mask({2, 3}); }},
    {"a scale that is not finite", StatusCode::kInvalidArgument, "attention: scale must be finite, found inf",
     [](Call& c) { c.options.scale = kInf; }},
    {"a softcap of zero", StatusCode::kInvalidArgument, "attention: softcap must be positive and finite, found 0",
     [](Call& c) { c.options.softcap = 0; }},
    {"a softcap of NaN", StatusCode::kInvalidArgument, "attention: softcap must be positive and finite, found nan",
     [](Call& c) { c.options.softcap = std::nan(""); }},
    {"a window below -1", StatusCode::kInvalidArgument, "attention: window 3,-2 has a side below -1 (-1 = open)",
     [](Call& c) { c.options.window = {3, -2}; }},
    {"an offset without its corner", StatusCode::kInvalidArgument, "attention: offset 2 is given without corner=offset",
     [](Call& c) { c.options.offset = 2; }},
    {"an offset beyond all tensors", StatusCode::kInvalidArgument,
     "attention: offset 1152921504606846977 is beyond 2^60",
     [](Call& c) {
       c.options.corner = Corner::kOffset;
       c.options.offset = (std::int64_t{1} << 60) + 1;
     }},
    {"too many slopes", StatusCode::kShapeMismatch, "attention: slopes has 7 values; expected [Hq] = 6",
     [](Call& c) { c.options.slopes = kSeven; }},
    {"a slope that is not finite", StatusCode::kInvalidArgument, "attention: slopes must be finite",
     [](Call& c) { c.options.slopes = kNotFinite; }},
    {"too many sinks", StatusCode::kShapeMismatch, "attention: sinks has 7 values; expected [Hq] = 6",
     [](Call& c) { c.options.sinks = kSeven; }},
    {"a sink of infinity", StatusCode::kInvalidArgument, "attention: sinks must be finite or -inf, found inf",
     [](Call& c) { c.options.sinks = kNotFinite; }},
};

const Mistake kPositionMistakes[] = {
    {"no corner", StatusCode::kInvalidArgument,
     "attention: causal, window and slopes depend on positions, and 3 queries with 5 keys leave the corner open; say "
     "top_left, bottom_right or an offset",
     [](Call& c) { c.options.causality = Causality::kCausal; }},
    {"no corner for a window", StatusCode::kInvalidArgument,
     "attention: causal, window and slopes depend on positions, and 3 queries with 5 keys leave the corner open; say "
     "top_left, bottom_right or an offset",
     [](Call& c) { c.options.window = {-1, 0}; }},
    {"no corner for slopes", StatusCode::kInvalidArgument,
     "attention: causal, window and slopes depend on positions, and 3 queries with 5 keys leave the corner open; say "
     "top_left, bottom_right or an offset",
     [](Call& c) { c.options.slopes = std::span(kSeven).first(6); }},
    {"packed sequences in a batch", StatusCode::kShapeMismatch,
     "attention: packed sequences need a batch of 1, found B = 2",
     [](Call& c) { c.options.cu_seqlens_q = c.options.cu_seqlens_k = kThree; }},
    {"too few key lengths", StatusCode::kShapeMismatch, "attention: key_lengths has 1 entries; expected [B] = 2",
     [](Call& c) { c.options.key_lengths = std::span(kLengths).first(1); }},
    {"a key length beyond the keys", StatusCode::kInvalidArgument,
     "attention: key_lengths[0] is 6; expected 0 to Tk = 5",
     [](Call& c) {
       static const std::int64_t kLong[] = {6, 5};
       c.options.key_lengths = kLong;
     }},
    {"a negative key length", StatusCode::kInvalidArgument, "attention: key_lengths[1] is -1; expected 0 to Tk = 5",
     [](Call& c) {
       static const std::int64_t kNegative[] = {5, -1};
       c.options.key_lengths = kNegative;
     }},
};

const Mistake kOutputMistakes[] = {
    {"the shape of o", StatusCode::kShapeMismatch, "attention: o [B,Hq,Tq,Dv] is [2,6,3,7], but Dv is 11 by v",
     [](Call& c) { c.outputs.o = View<float>(c.results.data(), {2, 6, 3, 7}); }},
    {"no o", StatusCode::kShapeMismatch, "attention: o [B,Hq,Tq,Dv] needs 4 axes, found 0: []",
     [](Call& c) { c.outputs.o = {}; }},
    {"the type of o", StatusCode::kShapeMismatch, "attention: o is f64; expected f32, the type of q (o [2,6,3,11])",
     [](Call& c) { c.outputs.o.dtype = DType::kF64; }},
    {"the type of a half o", StatusCode::kShapeMismatch,
     "attention: o is f16; expected bf16 or f32, the type of q (o [2,6,3,11])",
     [](Call& c) {
       c.inputs.q.dtype = c.inputs.k.dtype = c.inputs.v.dtype = DType::kBF16;
       c.outputs.o.dtype = DType::kF16;
     }},
    {"the shape of lse", StatusCode::kShapeMismatch,
     "attention: lse [B,Hq,Tq] is [2,6,5], but Tq is 3 by q (o [2,6,3,11])",
     [](Call& c) { c.outputs.lse = View<float>(c.results.data() + 1000, {2, 6, 5}); }},
    {"the type of lse", StatusCode::kShapeMismatch, "attention: lse is f64; expected f32 (o [2,6,3,11], lse [2,6,3])",
     [](Call& c) { c.outputs.lse.dtype = DType::kF64; }},
    {"o over q", StatusCode::kShapeMismatch, "attention: o overlaps the memory of q; give it memory of its own",
     [](Call& c) { c.outputs.o = View<float>(c.memory.data() + 251, {2, 6, 3, 11}); }},
    {"o over v by one element", StatusCode::kShapeMismatch,
     "attention: o overlaps the memory of v; give it memory of its own",
     [](Call& c) { c.outputs.o = View<float>(c.memory.data() + 819, {2, 6, 3, 11}); }},
    {"lse over k", StatusCode::kShapeMismatch, "attention: lse overlaps the memory of k; give it memory of its own",
     [](Call& c) { c.outputs.lse = View<float>(c.memory.data() + 300, {2, 6, 3}); }},
    {"o over the bias", StatusCode::kShapeMismatch,
     "attention: o overlaps the memory of bias; give it memory of its own",
     [](Call& c) { c.options.bias = View<const float>(c.results.data(), {3, 5}); }},
    {"lse over o", StatusCode::kShapeMismatch, "attention: lse overlaps the memory of o; give it memory of its own",
     [](Call& c) { c.outputs.lse = View<float>(c.results.data() + 395, {2, 6, 3}); }},
    {"o over itself", StatusCode::kShapeMismatch,
     "attention: o has strides [198,33,0,1] that put two elements in one place",
     [](Call& c) { c.outputs.o.strides[2] = 0; }},
    {"o whose rows overlap", StatusCode::kShapeMismatch,
     "attention: o has strides [198,33,10,1] that put two elements in one place",
     [](Call& c) { c.outputs.o.strides[2] = 10; }},
};

void expect_refused(const Mistake& mistake) {
  Call call;
  mistake.make(call);
  const Result<Report> result = attention_forward(call.inputs, call.outputs, call.options, call.execution);
  ASSERT_FALSE(result.is_ok()) << mistake.name;
  EXPECT_EQ(result.code(), mistake.code) << mistake.name;
  const std::string message = result.status().message();
  EXPECT_TRUE(message.starts_with(mistake.message))
      << mistake.name << "\n  said:     " << message << "\n  expected: " << mistake.message;
  EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 1) << mistake.name;
  for (const float value : call.results) ASSERT_EQ(value, 42.0F) << mistake.name << " was written to";
}

TEST(CheckAttention, the_good_call_is_accepted) {
  Call call;
  EXPECT_TRUE(attention_forward(call.inputs, call.outputs, call.options).is_ok());
}

TEST(CheckAttention, wrong_inputs_are_named_and_nothing_is_written) {
  for (const Mistake& mistake : kInputMistakes) expect_refused(mistake);
}

TEST(CheckAttention, wrong_options_are_named_and_nothing_is_written) {
  for (const Mistake& mistake : kOptionMistakes) expect_refused(mistake);
}

TEST(CheckAttention, wrong_positions_are_named_and_nothing_is_written) {
  for (const Mistake& mistake : kPositionMistakes) expect_refused(mistake);
}

TEST(CheckAttention, wrong_outputs_are_named_and_nothing_is_written) {
  for (const Mistake& mistake : kOutputMistakes) expect_refused(mistake);
}

TEST(CheckAttention, a_message_ends_with_the_shapes_that_were_found) {
  Call call;
  call.options.scale = kInf;
  EXPECT_EQ(attention_forward(call.inputs, call.outputs, call.options).status().message(),
            std::string("attention: scale must be finite, found inf").append(kSeen));
}

TEST(CheckAttention, neighbours_that_only_touch_do_not_overlap) {
  Call call;
  call.outputs.o = View<float>(call.memory.data() + 820, {2, 6, 3, 11});  // v ends at 820
  call.outputs.lse = View<float>(call.results.data() + 396, {2, 6, 3});
  EXPECT_TRUE(attention_forward(call.inputs, call.outputs, call.options).is_ok());
}

TEST(CheckAttention, the_reference_takes_mixed_types_and_says_the_same_sentences) {
  Call call;
  call.inputs.v.dtype = DType::kBF16;
  EXPECT_TRUE(check_attention(call.inputs, call.options, TypeRule::kAnyFloating).is_ok());
  EXPECT_FALSE(check_attention(call.inputs, call.options, TypeRule::kSameType).is_ok());
}

// Packed sequences need a batch of 1, so they get a call of their own.
struct Packed {
  std::vector<std::int64_t> q, k;
  const char* message;
};

TEST(CheckAttention, wrong_packed_sequences_are_named) {
  const Packed mistakes[] = {
      {{0, 3}, {}, "cu_seqlens_k must run from 0 to 5, found nothing"},
      {{}, {0, 5}, "cu_seqlens_q must run from 0 to 3, found nothing"},
      {{1, 3}, {0, 5}, "cu_seqlens_q must run from 0 to 3, found 1 to 3"},
      {{0, 3}, {0, 4}, "cu_seqlens_k must run from 0 to 5, found 0 to 4"},
      {{0, 2, 1, 3}, {0, 1, 2, 5}, "cu_seqlens_q must not decrease, found 2 then 1 at index 2"},
      {{0, 1, 3}, {0, 5}, "cu_seqlens_q has 3 entries but cu_seqlens_k 2"},
  };
  AttentionShape shape{1, 1, 1, 3, 5, 2, 2};
  for (const Packed& mistake : mistakes) {
    AttentionOptions options;
    options.cu_seqlens_q = mistake.q;
    options.cu_seqlens_k = mistake.k;
    EXPECT_EQ(check_positions(shape, options).message(), mistake.message);
  }
}

TEST(CheckAttention, a_corner_is_needed_only_where_lengths_differ) {
  AttentionOptions causal;
  causal.causality = Causality::kCausal;
  EXPECT_TRUE(check_positions({2, 1, 1, 5, 5, 2, 2}, causal).is_ok());
  causal.key_lengths = kLengths;  // 4 and 5 of 5 keys
  EXPECT_FALSE(check_positions({2, 1, 1, 5, 5, 2, 2}, causal).is_ok());
  AttentionOptions packed;
  packed.causality = Causality::kCausal;
  packed.cu_seqlens_q = packed.cu_seqlens_k = kThree;
  EXPECT_TRUE(check_positions({1, 1, 1, 5, 5, 2, 2}, packed).is_ok());
  static const std::int64_t kOther[] = {0, 2, 5};
  packed.cu_seqlens_k = kOther;
  EXPECT_FALSE(check_positions({1, 1, 1, 5, 5, 2, 2}, packed).is_ok());
}

}  // namespace
}  // namespace qkv
