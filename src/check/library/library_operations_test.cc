// Decode steps, layers and layernorms in a library: what is right passes, and what was made in public is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "src/check/check.h"
#include "src/check/library/library_subject.h"

namespace qkv::check {
namespace {

const std::string kItself = QKV_BINARY_DIR "/tests/check_qkv_itself.so";
const std::string kHostile = QKV_BINARY_DIR "/tests/check_hostile.so";
const std::string kNorm = QKV_BINARY_DIR "/examples/layernorm.so";
const std::string kDecode = QKV_BINARY_DIR "/examples/decode.so";

CheckReport checked(const std::string& path, const std::string& symbol, Operation operation,
                    DType dtype = DType::kF32) {
  Result<std::unique_ptr<Subject>> subject = open_library(path, symbol);
  EXPECT_TRUE(subject.is_ok()) << subject.status().message();
  CheckOptions options;
  options.probes.operation = operation;
  options.probes.dtype = dtype;
  Result<CheckReport> report = check(**subject, options);
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  return std::move(report).value();
}

// Every option of a cache on its way through the interface.
TEST(LibraryOperations, our_decode_refuses_nothing_and_is_right) {
  if (!std::filesystem::exists(kItself)) GTEST_SKIP() << "instrumented code cannot be loaded into a plain process";
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    const CheckReport report = checked(kItself, "qkv_itself", Operation::kDecode, dtype);
    EXPECT_EQ(report.verdict, Verdict::kRight) << to_string(dtype) << " " << report.headline;
    EXPECT_EQ(report.refused, 0);
  }
}

TEST(LibraryOperations, right_ones_are_right_in_what_they_support) {
  for (const auto& [path, symbol, operation] :
       {std::tuple(kNorm, "my_layernorm", Operation::kLayerNorm), std::tuple(kHostile, "my_layer", Operation::kLayer),
        std::tuple(kDecode, "my_decode", Operation::kDecode)}) {
    const CheckReport report = checked(path, symbol, operation);
    EXPECT_EQ(report.verdict, Verdict::kRight) << symbol << ": " << report.headline;
    for (const Invariant& one : report.invariants) EXPECT_TRUE(one.is_policy || one.holds()) << one.words;
  }
}

TEST(LibraryOperations, the_layernorm_of_the_book_makes_two_mistakes_at_once) {
  const CheckReport report = checked(kNorm, "norm_of_the_book", Operation::kLayerNorm);
  EXPECT_TRUE(
      report.headline.starts_with("WRONG: equals a LayerNorm with the unbiased variance, over C − 1, in the "
                                  "LayerNorm and eps added outside the root, √var + eps"))
      << report.headline;
}

TEST(LibraryOperations, a_token_that_is_written_one_slot_late_is_named) {
  const CheckReport report = checked(kDecode, "decode_one_slot_late", Operation::kDecode);
  EXPECT_TRUE(report.headline.starts_with("WRONG: equals a decode step with the new tokens written one slot too far"))
      << report.headline;
}

}  // namespace
}  // namespace qkv::check
