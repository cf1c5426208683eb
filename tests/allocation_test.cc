// A warm call allocates nothing: neither by operator new nor, given scratch of the caller's, from anywhere else.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "qkv/c.h"
#include "tests/attention_backward_testing.h"
#include "tests/decode_testing.h"
#include "tests/layer_case.h"

namespace {
std::atomic<std::int64_t> allocations = 0;
}

// All other forms of new lead to these two. noinline: what comes from malloc must not be seen to meet a delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace qkv {
namespace {

// Calls `call(execution)` until it is warm, then counts. The workspace is the caller's memory and cannot grow, so that
// a call that needed more would fail.
template <class Call>
std::int64_t allocations_of_a_warm_call(const Call& call) {
  static std::vector<char> memory(std::size_t{64} << 20);
  Workspace fixed(memory.data(), memory.size());
  Execution execution = on(Target::kAuto, 1);
  execution.workspace = &fixed;
  must(call(execution));
  std::int64_t before = allocations.load();
  must(call(execution));
  const std::int64_t in_fixed_memory = allocations.load() - before;
  execution.workspace = nullptr;
  must(call(execution));
  before = allocations.load();
  must(call(execution));
  return in_fixed_memory + allocations.load() - before;
}

TEST(Allocation, the_counter_counts) {
  const std::int64_t before = allocations.load();
  ::operator delete(::operator new(3));
  EXPECT_EQ(allocations.load() - before, 1);
}

TEST(Allocation, a_warm_forward_call_allocates_nothing) {
  for (const char* line :
       {"attention T5 D2", "attention B2 H4/2 T40 D16 causal", "attention B2 H4/2 T40x50 D16 bf16 lengths=50,3",
        "attention B1 H2 T90 D32 causal cu_q=0,30,90 cu_k=0,30,90 keep=90x90 bias=90 slopes sinks softcap=3"}) {
    const check::Case c = case_of(line);
    Problem problem = c.problem;
    problem.lse = true;
    const check::CaseOutputs outputs = must(check::make_outputs(problem));
    const AttentionOptions options = c.options();
    EXPECT_EQ(allocations_of_a_warm_call([&](const Execution& execution) {
                return attention_forward(c.inputs(), outputs.views(), options, execution);
              }),
              0)
        << line;
  }
}

TEST(Allocation, a_warm_backward_call_allocates_nothing) {
  for (const char* line :
       {"attention B2 H4/2 T40 D16 causal backward",
        "attention B2 H4/2 T40x50 D16/24 bf16 lengths=50,3 bias=40x50 sinks softcap=3 backward dlse"}) {
    const check::Case c = case_of(line);
    const Ran forward = run_case(c, on(Target::kAuto, 1));
    const check::CaseGradients gradients = must(check::make_gradients(c.problem));
    const AttentionOptions options = c.options();
    EXPECT_EQ(allocations_of_a_warm_call([&](const Execution& execution) {
                return attention_backward(backward_inputs(c, forward), gradients.views(), options, execution);
              }),
              0)
        << line;
  }
}

TEST(Allocation, a_warm_call_from_c_allocates_nothing_with_callbacks_either) {
  std::vector<float> numbers(256, 1), o(256);
  const int64_t shape[] = {1, 2, 8, 16};
  const qkv_tensor in = qkv_contiguous(numbers.data(), QKV_F32, 4, shape),
                   out = qkv_contiguous(o.data(), QKV_F32, 4, shape);
  qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
  args.q = args.k = args.v = &in;
  args.o = &out;
  std::vector<char> memory(1 << 20);
  qkv_execution execution = QKV_EXECUTION_INIT;
  execution.progress = [](void*, int64_t, int64_t) { return true; };
  execution.executor = [](void*, int workers, void (*body)(void*, int), void* context) {
    for (int worker = 0; worker < workers; ++worker) body(context, worker);
  };
  execution.workspace = qkv_workspace_create_in(memory.data(), memory.size());
  ASSERT_EQ(qkv_attention_forward(&args, nullptr, &execution, nullptr), QKV_OK) << qkv_last_error();
  const std::int64_t before = allocations.load();
  EXPECT_EQ(qkv_attention_forward(&args, nullptr, &execution, nullptr), QKV_OK);
  EXPECT_EQ(allocations.load() - before, 0);
  qkv_workspace_destroy(execution.workspace);
}

TEST(Allocation, a_warm_layer_allocates_nothing) {
  for (const Weights weights : {Weights::kSeparate, Weights::kFused}) {
    LayerForm form;
    form.weights = weights;
    const LayerCase c(form);
    const check::Placed y = c.empty_y();
    EXPECT_EQ(allocations_of_a_warm_call([&](const Execution& execution) {
                return layer_forward(c.x.view, c.p, y.view, c.options, execution);
              }),
              0);
  }
}

TEST(Allocation, a_warm_decode_step_allocates_nothing) {
  for (const char* line : {"attention T1x5 D2", "attention B2 H8/2 T1x900 D128 lengths=900,70",
                           "attention B2 H4/2 T3x50 D17 bf16 keep=3x50 slopes sinks softcap=3 causal=bottom_right"})
    for (const CacheForm& form : {CacheForm{0, DType::kF32, false}, CacheForm{10, DType::kI32, false}}) {
      const check::Case c = case_of(line);
      Problem problem = c.problem;
      problem.lse = true;
      const check::CaseOutputs outputs = must(check::make_outputs(problem));
      const AttentionOptions options = decode_options(c);
      TestCache cache = make_cache(c, form);
      const KeyValueCache view = cache.view();
      const NewTokens tokens = new_tokens(c);
      EXPECT_EQ(allocations_of_a_warm_call([&](const Execution& execution) {
                  for (std::int64_t& length : cache.lengths) length -= c.problem.query_length;  // the same tokens again
                  return attention_decode({c.q.view, tokens.k.view, tokens.v.view}, view, outputs.views(), options,
                                          execution);
                }),
                0)
          << line << ", " << to_string(form);
    }
}

}  // namespace
}  // namespace qkv
