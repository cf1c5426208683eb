// Public failures with heads, widths, sizes, strides and large offsets, each with its right value on every engine.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <vector>

#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Answer;
using testing::Array;
using testing::array;
using testing::Case;
using testing::Engine;
using testing::engines;
using testing::Json;
using testing::Lcg32;
using testing::numbers;

Array zeros(Dims shape) { return {shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)))}; }

// A typed copy of an array's numbers.
template <class T>
std::vector<T> typed(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// Address space without memory behind it until it is touched.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  }
  ~SparseMemory() {
    if (is_there()) munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  bool is_there() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

TEST(Cases, c047_query_head_h_reads_kv_head_h_over_g) {
  Case c("c047");
  c.q = zeros({1, 4, 1, 1});
  c.k = zeros({1, 2, 1, 1});
  c.v = {{1, 2, 1, 1}, {1, 2}};
  expect_exact_output(c, c.right("out_per_q_head"));
}

TEST(Cases, c049_queries_of_a_group_attend_separately) {
  Case c("c049");
  c.q = {{1, 2, 1, 1}, {1, -1}};
  c.options.scale = 1;
  expect_output(c, c.right("out"));
}

TEST(Cases, c053_the_output_is_as_wide_as_v_and_the_scale_comes_from_k) {
  Case c("c053");
  Lcg32 random(9);
  c.q = random.fill({1, 1, 2, 2});
  c.k = random.fill({1, 1, 3, 2});
  c.v = random.fill({1, 1, 3, 5});
  expect_output(c, c.right("out"));
}

TEST(Cases, c055_padding_for_the_machine_changes_no_scale) {
  Case c("c055");
  Lcg32 random(12);
  c.q = random.fill({1, 1, 2, 5}, 2);
  c.k = random.fill({1, 1, 3, 5}, 2);
  c.v = random.fill({1, 1, 3, 5});
  expect_output(c, c.right("out"));
}

TEST(Cases, c057_no_keys_give_empty_rows_and_no_queries_an_empty_result) {
  Case c("c057");
  c.q = Lcg32(1).fill({1, 1, 2, 4});
  c.k = zeros({1, 1, 0, 4});
  c.v = zeros({1, 1, 0, 3});
  expect_exact_output(c, c.right("out"));
  expect_lse(c, c.right("lse"));
  EXPECT_EQ(numbers(gradients(c, Lcg32(2).fill({1, 1, 2, 3})).dq), std::vector<double>(8));
  c.q = zeros({1, 1, 0, 4});
  expect_exact_output(c, Json::array());
  c.q = zeros({0, 1, 2, 4});
  c.k = zeros({0, 1, 5, 4});
  c.v = zeros({0, 1, 5, 3});
  expect_exact_output(c, Json::array());
}

TEST(Cases, c059_packed_sequences_may_have_no_query) {
  Case c("c059");
  const std::vector<std::int64_t> starts_q = c.json["inputs"]["cu_seqlens_q"];
  const std::vector<std::int64_t> starts_k = c.json["inputs"]["cu_seqlens_k"];
  Lcg32 random(4);
  c.q = random.fill({1, 9, 2, 3});
  c.k = random.fill({1, 3, 8, 3});
  c.v = random.fill({1, 3, 8, 2});
  Case masked = c;
  masked.set_keep(Json(
      {{true, true, true, false, false, false, false, false}, {false, false, false, true, true, true, true, true}}));
  const std::vector<double> want = compute(engines().front(), masked).o;
  EXPECT_EQ(want.size(), 9u * 2 * 2);
  c.options.cu_seqlens_q = starts_q;
  c.options.cu_seqlens_k = starts_k;
  expect_output(c, want);
}

TEST(Cases, c061_v_may_be_a_transposed_view) {
  const Case c("c061");
  const std::vector<double> memory = numbers(c.json["inputs"]["memory"]);
  const std::vector<float> narrow = typed<float>(memory);
  const std::vector<double> same(4, 1);
  const std::vector<float> narrow_same(4, 1);
  const Dims shape{1, 2, 2, 1};
  const Dims steps{4, 1, 2, 1};  // [N,H,D] in memory, read as [H,N,D]
  const Json right = {c.right("out")["head0"], c.right("out")["head0"], c.right("out")["head1"],
                      c.right("out")["head1"]};
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    AttentionInputs inputs{View<const double>(same.data(), shape), View<const double>(same.data(), shape),
                           View<const double>(memory.data(), shape, steps)};
    if (engine.dtype == DType::kF32)
      inputs = {View<const float>(narrow_same.data(), shape), View<const float>(narrow_same.data(), shape),
                View<const float>(narrow.data(), shape, steps)};
    EXPECT_EQ(compute(engine, inputs, {}).o, numbers(right));
  }
}

TEST(Cases, c063_the_innermost_stride_may_be_any) {
  Case c("c063");
  const std::vector<double> memory = {1, 3, -2, 0.5, 4, -1};  // not symmetric; [D,N] read as [N,D]
  const std::vector<float> narrow = typed<float>(memory);
  c.q = {{1, 1, 3, 2}, {1, 0.5, 3, 4, -2, -1}};
  c.k = c.q;
  c.v = {{1, 1, 3, 1}, {1, 2, 4}};
  const std::vector<float> values = {1, 2, 4};
  const Dims steps{6, 6, 1, 3};
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    AttentionInputs inputs{View<const double>(memory.data(), c.q.shape, steps),
                           View<const double>(memory.data(), c.q.shape, steps), c.v.view()};
    if (engine.dtype == DType::kF32)
      inputs = {View<const float>(narrow.data(), c.q.shape, steps), View<const float>(narrow.data(), c.q.shape, steps),
                View<const float>(values.data(), c.v.shape)};
    EXPECT_EQ(compute(engine, inputs, {}).o, compute(engine, c).o);
  }
}

TEST(Cases, c065_offsets_beyond_2_to_the_31_are_right) {
  const Case c("c065");
  const auto row = c.json["inputs"]["coord"].get<std::int64_t>();
  const auto stride = c.json["inputs"]["stride"].get<std::int64_t>();
  const auto offset = c.right("offset").get<std::int64_t>();
  const SparseMemory memory((static_cast<std::size_t>(offset) + 1) * sizeof(float));
  if (!memory.is_there()) GTEST_SKIP() << "no address space for 9 GB";
  const View<float> keys(static_cast<float*>(memory.data()), {1, 1, row + 1, 1}, {0, 0, stride, 1});
  EXPECT_EQ(&keys(0, 0, row, 0) - keys.data, offset);
  keys(0, 0, row, 0) = 100;  // all weight goes to the last key; elsewhere k and v are 0
  const float q = 1;
  for (const Engine& engine : engines()) {
    if (!engine.is_reference && engine.dtype != DType::kF32) continue;
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    const View<const void> view = View<const float>(keys.data, keys.shape, keys.strides);
    EXPECT_EQ(compute(engine, {View<const float>(&q, {1, 1, 1, 1}), view, view}, {}).o, std::vector<double>{100});
  }
}

TEST(Cases, c067_a_mask_may_lie_beyond_2_to_the_31_and_sequences_may_be_many) {
  Case c("c067");
  const auto far = c.json["inputs"]["elements"].get<std::int64_t>();
  const SparseMemory memory(static_cast<std::size_t>(far) + 2);
  if (!memory.is_there()) GTEST_SKIP() << "no address space for 4 GB";
  auto* mask = static_cast<std::uint8_t*>(memory.data());
  mask[0] = 1;
  mask[far + 1] = 1;
  c.q = zeros({1, 1, 2, 1});
  c.k = zeros({1, 1, 2, 1});
  c.v = {{1, 1, 2, 1}, {3, 5}};
  c.options.keep = View<const std::uint8_t>(mask, {2, 2}, {far, 1});
  expect_exact_output(c, Json({3, 5}));

  const auto sequences = c.json["inputs"]["batch"].get<std::int64_t>();
  std::vector<std::int64_t> starts;
  for (std::int64_t s = 0; s <= sequences; ++s) starts.push_back(s);
  c.options = {};
  c.options.cu_seqlens_q = c.options.cu_seqlens_k = starts;
  c.q = c.k = c.v = Array{{1, 1, sequences, 1}, {starts.begin(), starts.end() - 1}};
  expect_exact_output(c, c.v.values);
}

TEST(Cases, c069_two_calls_give_the_same_bits) {
  Case c("c069");
  Lcg32 random(6);
  c.q = random.fill({2, 4, 9, 7});
  c.k = random.fill({2, 2, 13, 7});
  c.v = random.fill({2, 2, 13, 5});
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    EXPECT_EQ(compute(engine, c), compute(engine, c));
  }
}

// Sample b of a case whose tensors all have that batch axis.
Case sample(const Case& c, std::int64_t b) {
  Case one = c;
  for (Array* tensor : {&one.q, &one.k, &one.v}) {
    const std::int64_t size = element_count(tensor->shape) / tensor->shape[0];
    tensor->shape[0] = 1;
    tensor->values.erase(tensor->values.begin() + (b + 1) * size, tensor->values.end());
    tensor->values.erase(tensor->values.begin(), tensor->values.begin() + b * size);
  }
  return one;
}

TEST(Cases, c098_a_batch_of_two_is_two_batches_of_one) {
  Case c("c098");
  c.q = c.k = c.v = Lcg32(21).fill({2, 1, 2, 2});
  expect_output(c, c.right("out"));
  expect_output(sample(c, 0), c.right("out")[0]);
  expect_output(sample(c, 1), c.right("out")[1]);
}

TEST(Cases, c099_k_is_transposed_within_its_head_only) {
  Case c("c099");
  Lcg32 random(8);
  c.q = random.fill({2, 4, 3, 7});  // every extent its own
  c.k = random.fill({2, 2, 5, 7});
  c.v = random.fill({2, 2, 5, 11});
  std::vector<double> want;
  const auto kept = [&](const Array& tensor, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t col) {
    const Dims& s = tensor.shape;
    return tensor.values[static_cast<std::size_t>(((b * s[1] + h) * s[2] + i) * s[3] + col)];
  };
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t i = 0; i < 3; ++i) {
        double sum = 0;
        std::vector<double> mixed(11);
        for (std::int64_t j = 0; j < 5; ++j) {
          double score = 0;
          for (std::int64_t col = 0; col < 7; ++col) score += kept(c.q, b, h, i, col) * kept(c.k, b, h / 2, j, col);
          const double weight = std::exp(score / std::sqrt(7.0));
          sum += weight;
          for (std::int64_t col = 0; col < 11; ++col)
            mixed[static_cast<std::size_t>(col)] += weight * kept(c.v, b, h / 2, j, col);
        }
        for (const double value : mixed) want.push_back(value / sum);
      }
  expect_output(c, want);
}

}  // namespace
}  // namespace qkv
