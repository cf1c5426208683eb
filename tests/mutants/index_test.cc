// An index of 32 bits is told by tensors that lie far apart: a sparse mapping of which a few pages exist.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "src/check/check.h"
#include "tests/mutants/naive_subject.h"

namespace mutants {
namespace {

using qkv::check::Case;
using qkv::check::CheckReport;
using qkv::check::Placed;
using qkv::check::Verdict;

constexpr std::int64_t kWrap = std::int64_t{1} << 31;  // elements

// Address space for f32 from −2³¹ to 2·2³¹ elements, all 0; memory is taken where something is written.
class SparseMapping {
 public:
  SparseMapping()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseMapping() {
    if (is_there()) munmap(memory_, kBytes);
  }
  SparseMapping(const SparseMapping&) = delete;
  SparseMapping& operator=(const SparseMapping&) = delete;
  bool is_there() const { return memory_ != MAP_FAILED; }
  float* middle() const { return static_cast<float*>(memory_) + kWrap; }

 private:
  static constexpr std::size_t kBytes = static_cast<std::size_t>(kWrap) * 3 * sizeof(float);
  void* memory_;
};

// The tensor again, its batch entries 2³¹ elements apart, and between them something for who ignores strides.
void place_far_apart(Placed& tensor, float* memory) {
  const qkv::View<void> old = tensor.view;
  qkv::Dims strides = old.strides;
  strides[0] = kWrap;
  const std::int64_t entry = element_count(old.shape) / old.shape[0];
  for (std::int64_t b = 0; b < old.shape[0]; ++b)
    std::memcpy(memory + b * kWrap, old.as<float>().data + b * entry, static_cast<std::size_t>(entry) * sizeof(float));
  std::memcpy(memory + entry, memory, static_cast<std::size_t>(entry) * sizeof(float));
  tensor.view = qkv::View<void>(memory, qkv::DType::kF32, old.shape, strides);
}

CheckReport judged(NaiveSubject& subject, float* memory) {
  qkv::Problem problem = qkv::check::first_probe({});
  problem.seed = 7'000'003;
  Case asked = std::move(qkv::check::generate(problem)).value();
  place_far_apart(asked.k, memory);
  qkv::check::SubjectOutputs outputs = std::move(subject.run(asked)).value().outputs;
  return std::move(check_given(std::move(asked), std::move(outputs), subject.name(), {})).value();
}

TEST(Index, of_64_bits_is_right_on_memory_far_apart) {
  const SparseMapping mapping;
  if (!mapping.is_there()) GTEST_SKIP() << "no address space for 24 GiB";
  NaiveSubject subject;
  const CheckReport report = judged(subject, mapping.middle());
  EXPECT_EQ(report.verdict, Verdict::kRight) << report.headline;
}

TEST(Index, of_32_bits_is_caught_and_named) {
  const SparseMapping mapping;
  if (!mapping.is_there()) GTEST_SKIP() << "no address space for 24 GiB";
  NaiveSubject subject(Edits({{Edit::kIndex32, 0}}));
  const CheckReport report = judged(subject, mapping.middle());
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.headline;
  ASSERT_FALSE(report.diagnosis.tied.empty()) << report.headline;
  EXPECT_EQ(report.diagnosis.tied.front().mistakes.front().name, "index_wraps") << report.headline;
}

}  // namespace
}  // namespace mutants
