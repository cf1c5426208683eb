// Calls from many threads at once, each on its own tensors and the default workspace, give the bits that they give
// alone.
#include <gtest/gtest.h>

#include <thread>

#include "tests/attention_backward_testing.h"
#include "tests/decode_testing.h"
#include "tests/layer_case.h"

namespace qkv {
namespace {

constexpr int kCallers = 8;
constexpr int kTurns = 2;

// Everything that one caller computes, byte for byte, with `threads` of its own in each call.
std::vector<unsigned char> compute_everything(int caller, int threads) {
  const std::string seed = " seed=" + std::to_string(caller);
  const Execution execution = on(Target::kAuto, threads);
  std::vector<unsigned char> all;
  const auto add = [&](const std::vector<unsigned char>& bits) { all.insert(all.end(), bits.begin(), bits.end()); };

  const check::Case square = case_of("attention B1 H4/2 T100 D32 causal backward" + seed);
  const RanBackward ran = run_backward(square, execution);
  add(ran.forward.o_bits());
  add(ran.bits());

  const check::Case step = case_of("attention H4/1 T1x600 D256" + seed);
  for (const CacheForm& form : {CacheForm{}, CacheForm{16, DType::kI32, true}}) {
    TestCache cache = make_cache(step, form);
    add(run_decode(step, cache, form, execution).o_bits());
  }

  LayerForm form;
  form.length = 20 + caller;
  const LayerCase layer(form);
  const check::Placed y = layer.empty_y();
  must(layer_forward(layer.x.view, layer.p, y.view, layer.options, execution));
  add(bits_of(y.view));
  return all;
}

TEST(ConcurrentCalls, give_the_bits_that_they_give_alone) {
  for (const int threads : {1, 2}) {
    std::vector<std::vector<unsigned char>> alone(kCallers);
    for (int caller = 0; caller < kCallers; ++caller)
      alone[static_cast<std::size_t>(caller)] = compute_everything(caller, 1);
    std::vector<int> wrong(kCallers);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller)
      callers.emplace_back([&, caller] {
        for (int turn = 0; turn < kTurns; ++turn)
          wrong[static_cast<std::size_t>(caller)] +=
              compute_everything(caller, threads) != alone[static_cast<std::size_t>(caller)];
      });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, std::vector<int>(kCallers)) << threads << " threads a call";
  }
}

// Two callers may read the same tensors.
TEST(ConcurrentCalls, may_share_what_they_read) {
  const check::Case c = case_of("attention B1 H4/2 T150 D32 causal");
  const std::vector<unsigned char> alone = run_case(c, on(Target::kAuto, 1)).o_bits();
  std::vector<int> wrong(kCallers);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller)
    callers.emplace_back(
        [&, caller] { wrong[static_cast<std::size_t>(caller)] = run_case(c, on(Target::kAuto, 2)).o_bits() != alone; });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, std::vector<int>(kCallers));
}

}  // namespace
}  // namespace qkv
