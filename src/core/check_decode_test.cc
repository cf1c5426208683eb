// Every mistake in a call of attention_decode is named, and neither cache nor lengths nor outputs are touched.
#include "src/core/check_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace qkv {
namespace {

// A good call, contiguous or paged: B 2, Hq 6, Hkv 2, t 3, D 7, Dv 11, capacity 8 or 4 pages of 2 a sequence.
struct Call {
  explicit Call(bool paged = false) {
    const Dims k = paged ? Dims{9, 2, 2, 7} : Dims{2, 2, 8, 7};
    const Dims v = paged ? Dims{9, 2, 2, 11} : Dims{2, 2, 8, 11};
    cache.k = View<float>(memory.data(), k);
    cache.v = View<float>(memory.data() + 400, v);
    if (paged) cache.block_table = View<const std::int32_t>(table.data(), {2, 4});
    cache.lengths = lengths;
    inputs.q = View<const float>(fresh.data(), {2, 6, 3, 7});
    inputs.k = View<const float>(fresh.data() + 300, {2, 2, 3, 7});
    inputs.v = View<const float>(fresh.data() + 400, {2, 2, 3, 11});
    outputs.o = View<float>(results.data(), {2, 6, 3, 11});
    outputs.lse = View<float>(results.data() + 500, {2, 6, 3});
  }
  View<const void> mask(Dims shape) const { return {flags.data(), DType::kBool, shape}; }

  std::vector<float> memory = std::vector<float>(1000, 42), fresh = std::vector<float>(1000, 1);
  std::vector<float> results = std::vector<float>(1000, 42);
  std::vector<std::uint8_t> flags = std::vector<std::uint8_t>(1000, 1);
  std::vector<std::int64_t> lengths = {2, 5};
  // Tokens 0..4 of batch 0 lie in pages 8 6 4, tokens 0..7 of batch 1 in 7 5 3 1.
  std::vector<std::int32_t> table = {8, 6, 4, -9, 7, 5, 3, 1};
  DecodeInputs inputs;
  KeyValueCache cache;
  AttentionOutputs outputs;
  AttentionOptions options;
};

struct Mistake {
  const char* name;
  StatusCode code;
  const char* message;  // as it begins
  void (*make)(Call&);
};

void expect_refused(const Mistake& mistake, bool paged) {
  Call call(paged);
  mistake.make(call);
  const std::vector<float> memory = call.memory;
  const std::vector<std::int64_t> lengths = call.lengths;
  const Result<Report> result = attention_decode(call.inputs, call.cache, call.outputs, call.options);
  ASSERT_FALSE(result.is_ok()) << mistake.name;
  EXPECT_EQ(result.code(), mistake.code) << mistake.name;
  const std::string message = result.status().message();
  EXPECT_TRUE(message.starts_with(mistake.message))
      << mistake.name << "\n  said:     " << message << "\n  expected: " << mistake.message;
  EXPECT_EQ(call.memory, memory) << mistake.name << " changed the cache";
  EXPECT_EQ(call.lengths, lengths) << mistake.name << " changed the lengths";
  for (const float value : call.results) ASSERT_EQ(value, 42.0F) << mistake.name << " was written to";
}

const std::int64_t kThree[] = {0, 2, 3};
const double kSeven[] = {1, 2, 3, 4, 5, 6, 7};

const Mistake kMistakes[] = {
    {"no q", StatusCode::kShapeMismatch, "attention_decode: q [B,Hq,t,D] needs 4 axes, found 0: []",
     [](Call& c) { c.inputs.q = {}; }},
    {"the width of the cache", StatusCode::kShapeMismatch,
     "attention_decode: cache.k [B,Hkv,capacity,D] is [2,2,8,6], but D is 7 by q [2,6,3,7] (q [2,6,3,7])",
     [](Call& c) { c.cache.k.shape[3] = 6; }},
    {"the capacity of cache.v", StatusCode::kShapeMismatch,
     "attention_decode: cache.v [B,Hkv,capacity,Dv] is [2,2,7,11], but capacity is 8 by cache.k [2,2,8,7]",
     [](Call& c) { c.cache.v.shape[2] = 7; }},
    {"the length of k", StatusCode::kShapeMismatch,
     "attention_decode: k [B,Hkv,t,D] is [2,2,2,7], but t is 3 by q [2,6,3,7]",
     [](Call& c) { c.inputs.k.shape[2] = 2; }},
    {"k without v", StatusCode::kInvalidArgument,
     "attention_decode: k is given without v; give both to append them, or neither", [](Call& c) { c.inputs.v = {}; }},
    {"v without k", StatusCode::kInvalidArgument,
     "attention_decode: v is given without k; give both to append them, or neither", [](Call& c) { c.inputs.k = {}; }},
    {"two types", StatusCode::kShapeMismatch,
     "attention_decode: cache.v is bf16 but q is f32; convert them to one type first",
     [](Call& c) { c.cache.v.dtype = DType::kBF16; }},
    {"a type that is no float", StatusCode::kShapeMismatch,
     "attention_decode: v is i32; expected f64, f32, bf16 or f16", [](Call& c) { c.inputs.v.dtype = DType::kI32; }},
    {"no memory", StatusCode::kShapeMismatch, "attention_decode: cache.k has no memory (a null pointer)",
     [](Call& c) { c.cache.k.data = nullptr; }},
    {"heads that do not divide", StatusCode::kShapeMismatch,
     "attention_decode: cache.k has 2 heads, which does not divide q's 5",
     [](Call& c) {
       c.inputs.q.shape[1] = 5;
       c.outputs.o.shape[1] = 5;
     }},
    {"no token", StatusCode::kShapeMismatch, "attention_decode: q has no token; t must be at least 1",
     [](Call& c) {
       c.inputs.q.shape[2] = 0;
       c.inputs.k = {};
       c.inputs.v = {};
     }},
    {"key lengths", StatusCode::kInvalidArgument,
     "attention_decode: key_lengths is given, but the cache has lengths; leave it out",
     [](Call& c) { c.options.key_lengths = c.cache.lengths; }},
    {"packed sequences", StatusCode::kInvalidArgument,
     "attention_decode: packed sequences (cu_seqlens) have no cache; use attention_forward",
     [](Call& c) { c.options.cu_seqlens_q = kThree; }},
    {"another corner", StatusCode::kInvalidArgument,
     "attention_decode: corner is top_left, but new tokens stand at the end of the cache; say bottom_right or nothing",
     [](Call& c) { c.options.corner = Corner::kTopLeft; }},
    {"an offset", StatusCode::kInvalidArgument,
     "attention_decode: corner is an offset, but new tokens stand at the end of the cache",
     [](Call& c) { c.options.corner = Corner::kOffset; }},
    {"a mask of the wrong length", StatusCode::kShapeMismatch,
     "attention_decode: key_mask [B,Tk] is [2,9], but Tk is 8 by ",
     [](Call& c) { c.options.key_mask = c.mask({2, 9}); }},
    {"a bias that does not broadcast", StatusCode::kShapeMismatch,
     "attention_decode: bias [3,7] does not broadcast to [B,Hq,Tq,Tk] = [2,6,3,8]",
     [](Call& c) { c.options.bias = View<const float>(c.fresh.data() + 700, {3, 7}); }},
    {"too many sinks", StatusCode::kShapeMismatch, "attention_decode: sinks has 7 values; expected [Hq] = 6",
     [](Call& c) { c.options.sinks = kSeven; }},
    {"a scale that is not finite", StatusCode::kInvalidArgument, "attention_decode: scale must be finite, found nan",
     [](Call& c) { c.options.scale = std::nan(""); }},
    {"too few lengths", StatusCode::kShapeMismatch, "attention_decode: cache.lengths has 1 entries; expected [B] = 2",
     [](Call& c) { c.cache.lengths = c.cache.lengths.first(1); }},
    {"a negative length", StatusCode::kInvalidArgument, "attention_decode: cache.lengths[1] is -1; expected 0 to ",
     [](Call& c) { c.lengths[1] = -1; }},
    {"the shape of o", StatusCode::kShapeMismatch,
     "attention_decode: o [B,Hq,t,Dv] is [2,6,2,11], but t is 3 by q [2,6,3,7]",
     [](Call& c) { c.outputs.o.shape[2] = 2; }},
    {"the type of o", StatusCode::kShapeMismatch, "attention_decode: o is f64; expected f32, the type of q",
     [](Call& c) { c.outputs.o.dtype = DType::kF64; }},
    {"o over the cache", StatusCode::kShapeMismatch,
     "attention_decode: o overlaps the memory of cache.k; give it memory of its own",
     [](Call& c) { c.outputs.o = View<float>(c.memory.data(), {2, 6, 3, 11}); }},
    {"new keys inside the cache", StatusCode::kShapeMismatch,
     "attention_decode: cache.v overlaps the memory of k; give it memory of its own",
     [](Call& c) { c.inputs.k = View<const float>(c.memory.data() + 410, {2, 2, 3, 7}); }},
    {"a cache that lies over itself", StatusCode::kShapeMismatch, "attention_decode: cache.v has strides ",
     [](Call& c) { c.cache.v.strides[2] = 0; }},
    {"values among the keys", StatusCode::kShapeMismatch,
     "attention_decode: cache.v overlaps the memory of cache.k; give it memory of its own",
     [](Call& c) { c.cache.v.data = c.memory.data() + 3; }},
};

const Mistake kContiguousMistakes[] = {
    {"a full cache", StatusCode::kInvalidArgument,
     "attention_decode: the cache is full: batch 1 holds 6 tokens and 3 more exceed capacity = 8",
     [](Call& c) { c.lengths[1] = 6; }},
    {"a length beyond the cache", StatusCode::kInvalidArgument,
     "attention_decode: cache.lengths[0] is 9; expected 0 to capacity = 8", [](Call& c) { c.lengths[0] = 9; }},
};

const Mistake kPagedMistakes[] = {
    {"a full cache", StatusCode::kInvalidArgument,
     "attention_decode: the cache is full: batch 1 holds 6 tokens and 3 more exceed max_pages * page = 8",
     [](Call& c) { c.lengths[1] = 6; }},
    {"a block table of floats", StatusCode::kShapeMismatch, "attention_decode: block_table is f32; expected i32 or i64",
     [](Call& c) { c.cache.block_table.dtype = DType::kF32; }},
    {"a block table of another batch", StatusCode::kShapeMismatch,
     "attention_decode: block_table [B,max_pages] is [1,4], but B is 2 by q [2,6,3,7]",
     [](Call& c) { c.cache.block_table.shape[0] = 1; }},
    {"pages of no token", StatusCode::kShapeMismatch, "attention_decode: cache.k has pages of no token",
     [](Call& c) { c.cache.k.shape[2] = c.cache.v.shape[2] = 0; }},
    {"a negative page", StatusCode::kInvalidArgument,
     "attention_decode: block_table[1,2] names page -1; expected 0 to P - 1 = 8", [](Call& c) { c.table[6] = -1; }},
    {"a page that is not there", StatusCode::kInvalidArgument,
     "attention_decode: block_table[0,0] names page 9; expected 0 to P - 1 = 8", [](Call& c) { c.table[0] = 9; }},
    {"a page for new tokens that is not there", StatusCode::kInvalidArgument,
     "attention_decode: block_table[0,2] names page 70000; expected 0 to P - 1 = 8",
     [](Call& c) { c.table[2] = 70000; }},
    {"a page that two sequences write to", StatusCode::kInvalidArgument,
     "attention_decode: page 3 would take new tokens twice, by block_table[0,1] and [1,2]",
     [](Call& c) { c.table[1] = 3; }},
    {"a page that is written to twice", StatusCode::kInvalidArgument,
     "attention_decode: page 1 would take new tokens twice, by block_table[1,2] and [1,3]",
     [](Call& c) { c.table[6] = 1; }},
};

TEST(CheckDecode, the_good_calls_are_accepted_and_raise_the_lengths) {
  for (const bool paged : {false, true}) {
    Call call(paged);
    const Result<Report> result = attention_decode(call.inputs, call.cache, call.outputs, call.options);
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    EXPECT_EQ(call.lengths, (std::vector<std::int64_t>{5, 8}));
    call.inputs.k = call.inputs.v = {};
    ASSERT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
    EXPECT_EQ(call.lengths, (std::vector<std::int64_t>{5, 8}));
  }
}

TEST(CheckDecode, mistakes_are_named_and_nothing_is_written) {
  for (const Mistake& mistake : kMistakes) {
    expect_refused(mistake, false);
  }
  for (const Mistake& mistake : kContiguousMistakes) expect_refused(mistake, false);
  for (const Mistake& mistake : kPagedMistakes) expect_refused(mistake, true);
}

TEST(CheckDecode, a_message_ends_with_the_shapes_that_were_found) {
  Call call(true);
  call.options.scale = std::nan("");
  EXPECT_EQ(attention_decode(call.inputs, call.cache, call.outputs, call.options).status().message(),
            "attention_decode: scale must be finite, found nan (q [2,6,3,7], cache.k [9,2,2,7], cache.v [9,2,2,11], "
            "block_table [2,4], k [2,2,3,7], v [2,2,3,11])");
}

TEST(CheckDecode, pages_in_front_of_the_window_are_not_looked_at) {
  Call call(true);
  call.options.window.left = 1;  // batch 1: tokens 4 and later
  call.table[4] = call.table[5] = -77;
  EXPECT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
  call.lengths[1] = 5;
  call.options.window.left = 2;  // token 3, which lies in entry 1
  EXPECT_EQ(attention_decode(call.inputs, call.cache, call.outputs, call.options).code(), StatusCode::kInvalidArgument);
}

TEST(CheckDecode, two_sequences_may_share_pages_that_nobody_writes) {
  Call call(true);
  call.table[4] = 8;  // both begin with the same two tokens
  EXPECT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
}

TEST(CheckDecode, keys_and_values_may_lie_in_turn) {
  std::vector<float> memory(10000);
  Call call;
  call.lengths = {0, 0};
  // [batch,2,heads,slots,width] and [batch,slots,2,heads,width]; D = Dv = 7 so that both fit one array.
  call.outputs.o = View<float>(call.results.data(), {2, 6, 3, 7});
  call.inputs.v = View<const float>(call.fresh.data() + 400, {2, 2, 3, 7});
  const Dims shape{2, 2, 8, 7};
  for (const Dims& strides : {Dims{224, 56, 7, 1}, Dims{224, 7, 28, 1}}) {
    const std::int64_t behind = strides[1] == 56 ? 112 : 14;
    call.cache.k = View<float>(memory.data(), shape, strides);
    call.cache.v = View<float>(memory.data() + behind, shape, strides);
    EXPECT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
    std::swap(call.cache.k, call.cache.v);
    EXPECT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
    call.lengths = {0, 0};
    call.cache.v = View<float>(memory.data() + behind - 1, shape, strides);
    call.cache.k = View<float>(memory.data(), shape, strides);
    EXPECT_FALSE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
  }
}

TEST(CheckDecode, a_cache_that_is_only_read_may_hold_values_inside_its_keys) {
  Call call;
  call.inputs.k = call.inputs.v = {};
  call.outputs.o = View<float>(call.results.data(), {2, 6, 3, 5});
  call.cache.v = View<float>(call.memory.data(), {2, 2, 8, 5}, call.cache.k.strides);
  EXPECT_TRUE(attention_decode(call.inputs, call.cache, call.outputs, call.options).is_ok());
}

}  // namespace
}  // namespace qkv
