// Every sentence that attention_backward says about a wrong call, and that such a call writes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "qkv/attention.h"

namespace qkv {
namespace {

// A good call, B2 Hq6 Hkv2 Tq3 Tk5 D7 Dv11 with a bias and sinks, that each test spoils in one place.
struct Call {
  std::vector<float> memory = std::vector<float>(8192);  // wide enough for whatever a test points at
  std::vector<float> results = std::vector<float>(8192, 42.0F);
  std::vector<double> sinks = std::vector<double>(6);
  AttentionBackwardInputs inputs;
  AttentionBackwardOutputs outputs;
  AttentionOptions options;

  Call() {
    inputs.q = input(0, {2, 6, 3, 7});
    inputs.k = input(300, {2, 2, 5, 7});
    inputs.v = input(600, {2, 2, 5, 11});
    inputs.o = input(900, {2, 6, 3, 11});
    inputs.lse = input(1400, {2, 6, 3});
    inputs.d_o = input(1500, {2, 6, 3, 11});
    inputs.d_lse = input(2000, {2, 6, 3});
    options.bias = input(2100, {6, 3, 5});
    options.sinks = sinks;
    outputs.dq = output(0, {2, 6, 3, 7});
    outputs.dk = output(300, {2, 2, 5, 7});
    outputs.dv = output(600, {2, 2, 5, 11});
    outputs.dbias = output(900, {6, 3, 5});
    outputs.dsinks = output(1000, {6});
  }
  View<const void> input(std::int64_t at, Dims shape) { return View<const float>(memory.data() + at, shape); }
  View<void> output(std::int64_t at, Dims shape) { return View<float>(results.data() + at, shape); }
};

struct Mistake {
  const char* name;
  StatusCode code;
  const char* message;
  std::function<void(Call&)> make;
};

const Mistake kMistakes[] = {
    {"what the forward pass refuses", StatusCode::kShapeMismatch, "attention_backward: v [B,Hkv,Tk,Dv] is [2,2,4,11]",
     [](Call& c) { c.inputs.v = c.input(600, {2, 2, 4, 11}); }},
    {"no o", StatusCode::kShapeMismatch, "attention_backward: o [B,Hq,Tq,Dv] needs 4 axes, found 0: []",
     [](Call& c) { c.inputs.o = {}; }},
    {"the shape of o", StatusCode::kShapeMismatch,
     "attention_backward: o [B,Hq,Tq,Dv] is [2,6,3,7], but Dv is 11 by v [2,2,5,11]",
     [](Call& c) { c.inputs.o = c.input(900, {2, 6, 3, 7}); }},
    {"the type of o", StatusCode::kShapeMismatch, "attention_backward: o is f16; expected f32, the type of q",
     [](Call& c) { c.inputs.o.dtype = DType::kF16; }},
    {"no lse", StatusCode::kShapeMismatch, "attention_backward: lse [B,Hq,Tq] needs 3 axes, found 0: []",
     [](Call& c) { c.inputs.lse = {}; }},
    {"the type of lse", StatusCode::kShapeMismatch, "attention_backward: lse is f64; expected f32",
     [](Call& c) { c.inputs.lse.dtype = DType::kF64; }},
    {"the shape of d_o", StatusCode::kShapeMismatch,
     "attention_backward: d_o [B,Hq,Tq,Dv] is [2,6,4,11], but Tq is 3 by q [2,6,3,7]",
     [](Call& c) { c.inputs.d_o = c.input(1500, {2, 6, 4, 11}); }},
    {"the type of d_o", StatusCode::kShapeMismatch, "attention_backward: d_o is bf16; expected f32, the type of o",
     [](Call& c) { c.inputs.d_o.dtype = DType::kBF16; }},
    {"no memory for d_o", StatusCode::kShapeMismatch, "attention_backward: d_o has no memory (a null pointer)",
     [](Call& c) {
       c.inputs.d_o.data = nullptr;
       c.inputs.d_o.dtype = DType::kF32;
     }},
    {"the shape of d_lse", StatusCode::kShapeMismatch, "attention_backward: d_lse [B,Hq,Tq] is [2,6,5]",
     [](Call& c) { c.inputs.d_lse = c.input(2000, {2, 6, 5}); }},
    {"the type of d_lse", StatusCode::kShapeMismatch, "attention_backward: d_lse is f64; expected f32, the type of lse",
     [](Call& c) { c.inputs.d_lse.dtype = DType::kF64; }},
    {"the shape of dq", StatusCode::kShapeMismatch,
     "attention_backward: dq [B,Hq,Tq,D] is [2,6,5,7], but Tq is 3 by q [2,6,3,7]",
     [](Call& c) { c.outputs.dq = c.output(0, {2, 6, 5, 7}); }},
    {"the heads of dk", StatusCode::kShapeMismatch,
     "attention_backward: dk [B,Hkv,Tk,D] is [2,6,5,7], but Hkv is 2 by k [2,2,5,7]",
     [](Call& c) { c.outputs.dk = c.output(3000, {2, 6, 5, 7}); }},
    {"the width of dv", StatusCode::kShapeMismatch,
     "attention_backward: dv [B,Hkv,Tk,Dv] is [2,2,5,7], but Dv is 11 by v [2,2,5,11]",
     [](Call& c) { c.outputs.dv = c.output(600, {2, 2, 5, 7}); }},
    {"the type of dv", StatusCode::kShapeMismatch, "attention_backward: dv is f64; expected f32, the type of q",
     [](Call& c) { c.outputs.dv.dtype = DType::kF64; }},
    {"a negative stride", StatusCode::kShapeMismatch, "attention_backward: dk has a negative stride [70,35,-7,1]",
     [](Call& c) { c.outputs.dk.strides[2] = -7; }},
    {"a stride of 0", StatusCode::kShapeMismatch,
     "attention_backward: dk has strides [70,35,0,1] that put two elements in one place",
     [](Call& c) { c.outputs.dk.strides[2] = 0; }},
    {"dbias without a bias", StatusCode::kInvalidArgument,
     "attention_backward: dbias is asked for but there is no bias", [](Call& c) { c.options.bias = {}; }},
    {"the shape of dbias", StatusCode::kShapeMismatch,
     "attention_backward: dbias is [1,3,5]; expected bias's shape [6,3,5]",
     [](Call& c) { c.outputs.dbias = c.output(900, {1, 3, 5}); }},
    {"the type of dbias", StatusCode::kShapeMismatch, "attention_backward: dbias is f16; expected f32",
     [](Call& c) { c.outputs.dbias.dtype = DType::kF16; }},
    {"dsinks without sinks", StatusCode::kInvalidArgument,
     "attention_backward: dsinks is asked for but there are no sinks", [](Call& c) { c.options.sinks = {}; }},
    {"the shape of dsinks", StatusCode::kShapeMismatch,
     "attention_backward: dsinks [Hq] is [2], but Hq is 6 by q [2,6,3,7]",
     [](Call& c) { c.outputs.dsinks = c.output(1000, {2}); }},
    {"the type of dsinks", StatusCode::kShapeMismatch, "attention_backward: dsinks is f64; expected f32",
     [](Call& c) { c.outputs.dsinks.dtype = DType::kF64; }},
    {"an output on an input", StatusCode::kShapeMismatch,
     "attention_backward: dq overlaps the memory of q; give it memory of its own",
     [](Call& c) { c.outputs.dq.data = c.memory.data() + 100; }},
    {"an output on o", StatusCode::kShapeMismatch,
     "attention_backward: dv overlaps the memory of o; give it memory of its own",
     [](Call& c) { c.outputs.dv.data = c.memory.data() + 1000; }},
    {"an output on the bias", StatusCode::kShapeMismatch,
     "attention_backward: dsinks overlaps the memory of bias; give it memory of its own",
     [](Call& c) { c.outputs.dsinks.data = c.memory.data() + 2100; }},
    {"two outputs in one place", StatusCode::kShapeMismatch,
     "attention_backward: dv overlaps the memory of dk; give it memory of its own",
     [](Call& c) { c.outputs.dv.data = c.results.data() + 300; }},
};

TEST(CheckAttentionBackward, a_good_call_is_one) {
  Call call;
  EXPECT_TRUE(attention_backward(call.inputs, call.outputs, call.options).is_ok());
  call.inputs.d_lse = {};
  call.outputs = {};
  EXPECT_TRUE(attention_backward(call.inputs, call.outputs, call.options).is_ok());
}

TEST(CheckAttentionBackward, every_mistake_has_its_sentence_and_writes_nothing) {
  for (const Mistake& mistake : kMistakes) {
    SCOPED_TRACE(mistake.name);
    Call call;
    mistake.make(call);
    const std::vector<float> results = call.results, memory = call.memory;
    const Result<Report> result = attention_backward(call.inputs, call.outputs, call.options);
    ASSERT_FALSE(result.is_ok());
    EXPECT_EQ(result.code(), mistake.code);
    EXPECT_EQ(result.status().message().substr(0, std::string(mistake.message).size()), mistake.message);
    EXPECT_EQ(call.results, results);
    EXPECT_EQ(call.memory, memory);
  }
}

TEST(CheckAttentionBackward, a_message_shows_the_shapes_that_were_read) {
  Call call;
  call.inputs.lse.dtype = DType::kF64;
  EXPECT_EQ(attention_backward(call.inputs, call.outputs, call.options).status().message(),
            "attention_backward: lse is f64; expected f32 (q [2,6,3,7], k [2,2,5,7], v [2,2,5,11], o [2,6,3,11], lse "
            "[2,6,3])");
}

TEST(CheckAttentionBackward, gradients_of_half_types_may_be_f32_and_nothing_else) {
  Call call;
  for (View<const void>* view : {&call.inputs.q, &call.inputs.k, &call.inputs.v}) view->dtype = DType::kBF16;
  EXPECT_TRUE(attention_backward(call.inputs, call.outputs, call.options).is_ok());
  call.outputs.dk.dtype = DType::kF16;
  EXPECT_NE(attention_backward(call.inputs, call.outputs, call.options)
                .status()
                .message()
                .find("dk is f16; expected bf16 or f32, the type of q"),
            std::string::npos);
}

}  // namespace
}  // namespace qkv
