// The glance never says yes where the rules say no, and does say yes to what everybody calls.
#include "src/core/glance.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

namespace qkv {
namespace {

struct Call {
  std::array<float, 4096> memory{};
  AttentionInputs inputs;
  AttentionOutputs outputs;
  AttentionOptions options;

  Call() {
    inputs.q = View<const float>(memory.data(), {1, 2, 5, 2});
    inputs.k = View<const float>(memory.data() + 100, {1, 1, 5, 2});
    inputs.v = View<const float>(memory.data() + 200, {1, 1, 5, 3});
    outputs.o = View<float>(memory.data() + 300, {1, 2, 5, 3});
  }
  bool glance() const {
    AttentionShape shape;
    return right_at_a_glance(inputs, outputs, options, shape);
  }
  bool rules() const {
    const auto shape = check_attention(inputs, options, TypeRule::kSameType);
    return shape.is_ok() && check_outputs(*shape, inputs, outputs, options).is_ok();
  }
};

TEST(Glance, knows_the_plain_call_and_its_shape) {
  Call call;
  AttentionShape shape;
  ASSERT_TRUE(right_at_a_glance(call.inputs, call.outputs, call.options, shape));
  EXPECT_EQ(shape.query_heads, 2);
  EXPECT_EQ(shape.kv_heads, 1);
  EXPECT_EQ(shape.value_width, 3);
  call.options.causality = Causality::kCausal;
  EXPECT_TRUE(call.glance());
  call.inputs.q = swap_axes(View<const void>(View<const float>(call.memory.data(), {1, 5, 2, 2})), 1, 2);
  EXPECT_TRUE(call.glance());
}

// One draw: something about a plain call is changed, wrongly or not.
void disturb(Call& call, std::mt19937& random) {
  const auto pick = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  View<const void>* const views[] = {&call.inputs.q, &call.inputs.k, &call.inputs.v};
  View<const void>& view = *views[pick(3)];
  switch (pick(12)) {
    case 0: view.shape[pick(4)] = pick(7); break;
    case 1: view.strides[pick(4)] = pick(12) - 1; break;
    case 2: view.dtype = DType::kF64; break;
    case 3: view.data = nullptr; break;
    case 4: call.outputs.o.data = call.memory.data() + pick(400); break;
    case 5: call.outputs.o.shape[pick(4)] = pick(6); break;
    case 6: call.outputs.o.strides[pick(4)] = pick(16); break;
    case 7: call.options.scale = pick(2) ? std::numeric_limits<double>::infinity() : 0.5; break;
    case 8: call.options.softcap = pick(3) - 1; break;
    case 9: call.options.window.left = pick(4) - 2; break;
    case 10: call.options.causality = Causality::kCausal; break;
    default: call.options.offset = pick(2); break;
  }
}

TEST(Glance, never_says_yes_where_the_rules_say_no) {
  std::mt19937 random(7);
  int yes = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    Call call;
    for (auto changes = random() % 3; changes > 0; --changes) disturb(call, random);
    if (!call.glance()) continue;
    ++yes;
    ASSERT_TRUE(call.rules()) << "draw " << draw;
  }
  EXPECT_GT(yes, 1000);
}

}  // namespace
}  // namespace qkv
