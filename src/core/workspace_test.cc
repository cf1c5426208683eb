// Scratch: growing, fixed, and who gets which.
#include "qkv/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <utility>

#include "src/core/workspace_lease.h"

namespace qkv {
namespace {

TEST(Workspace, grows_to_the_largest_request_and_keeps_it) {
  Workspace workspace;
  void* large = workspace.reserve(1000);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % 64, 0U);
  EXPECT_EQ(workspace.reserve(10), large);
  EXPECT_GE(workspace.capacity(), 1000U);
  workspace.release();
  EXPECT_EQ(workspace.capacity(), 0U);
}

TEST(Workspace, uses_the_caller_s_memory_aligned_and_never_more) {
  alignas(64) char memory[256];
  Workspace workspace(memory + 1, 200);
  EXPECT_EQ(workspace.reserve(100), memory + 64);
  EXPECT_EQ(workspace.reserve(137), memory + 64);
  EXPECT_EQ(workspace.reserve(138), nullptr);
}

TEST(Workspace, remembers_the_most_that_was_wanted) {
  alignas(64) char memory[64];
  Workspace workspace(memory, 64);
  EXPECT_EQ(workspace.wanted(), 0U);
  EXPECT_NE(workspace.reserve(60), nullptr);
  EXPECT_EQ(workspace.reserve(1000), nullptr);
  EXPECT_NE(workspace.reserve(1), nullptr);
  EXPECT_EQ(workspace.wanted(), 1000U);
}

TEST(Workspace, moves_its_memory_along) {
  Workspace one;
  void* memory = one.reserve(100);
  Workspace two(std::move(one));
  EXPECT_EQ(two.reserve(100), memory);
  EXPECT_EQ(one.capacity(), 0U);  // NOLINT(bugprone-use-after-move): that is what is asked
}

TEST(WorkspaceLease, takes_the_thread_s_own_memory_again_and_again) {
  char* first = WorkspaceLease({}, "test", 5000).memory();
  EXPECT_EQ(WorkspaceLease({}, "test", 4000).memory(), first);
}

TEST(WorkspaceLease, gives_a_call_inside_a_call_memory_of_its_own) {
  const WorkspaceLease outer({}, "test", 100);
  const WorkspaceLease inner({}, "test", 100);
  EXPECT_NE(outer.memory(), inner.memory());
}

TEST(WorkspaceLease, gives_every_thread_memory_of_its_own) {
  const WorkspaceLease here({}, "test", 100);
  std::thread([&here] { EXPECT_NE(WorkspaceLease({}, "test", 100).memory(), here.memory()); }).join();
}

TEST(WorkspaceLease, says_how_much_a_fixed_workspace_lacks) {
  alignas(64) char memory[128];
  Workspace workspace(memory, sizeof(memory));
  Execution execution;
  execution.workspace = &workspace;
  const WorkspaceLease lease(execution, "attention_forward", 1000);
  EXPECT_EQ(lease.memory(), nullptr);
  EXPECT_EQ(lease.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(lease.status().message(), "attention_forward: the workspace holds 128 bytes, and this call needs 1064");
}

TEST(WorkspaceLease, lends_what_it_does_not_need) {
  alignas(64) char memory[640];
  Workspace workspace(memory, sizeof(memory));
  Execution execution;
  execution.workspace = &workspace;
  const WorkspaceLease lease(execution, "test", 128);
  Workspace rest = lease.rest(128);
  EXPECT_EQ(rest.reserve(512), memory + 128);
  EXPECT_EQ(rest.reserve(513), nullptr);
  EXPECT_TRUE(lease.is_fixed());
}

TEST(WorkspaceLease, grows_the_workspace_when_it_ends) {
  Workspace workspace;
  Execution execution;
  execution.workspace = &workspace;
  {
    WorkspaceLease lease(execution, "test", 128);
    lease.grow_at_end(5000);
    EXPECT_LT(workspace.capacity(), 5000U);
  }
  EXPECT_GE(workspace.capacity(), 5000U);
}

}  // namespace
}  // namespace qkv
