// What is written is read back, in every format.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

// f32 [2,3] of 1 to 6, i64 [2], bool [3], bf16 and f16 scalars, f64 [2,0]; and text.
struct Sample {
  std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> lengths{-1, std::int64_t{1} << 40};
  bool keep[3] = {true, false, true};
  bf16 half = to_bf16(1.5f);
  f16 other = to_f16(-0.25f);
  double none = 0;

  FileContents contents() {
    FileContents contents;
    contents.tensors = {{"keep", View<const bool>(keep, {3})},
                        {"q", View<const float>(numbers.data(), {2, 3})},
                        {"q transposed", View<const float>(numbers.data(), {3, 2}, {1, 3})},
                        {"lengths", View<const std::int64_t>(lengths.data(), {2})},
                        {"b", View<const bf16>(&half, {})},
                        {"h", View<const f16>(&other, {1, 1})},
                        {"empty", View<const double>(&none, {2, 0})}};
    contents.metadata = {{"sentence", "a praça ␣ 𝄞"}, {"nothing", ""}};
    contents.strings = {{"tokens", {"␣cat", "", "ed", "𝄞"}}, {"no_tokens", {}}};
    return contents;
  }
};

// Name, element type, shape and every element.
std::string described(const std::string& name, const View<const void>& view) {
  std::string text = name + " " + std::string(to_string(view.dtype)) + " " + to_string(view.shape) + ":";
  const auto visit = [&](auto&& self, int axis, std::int64_t offset) -> void {
    if (axis == view.shape.rank()) {
      text += " " + std::to_string(element_as_double(view, offset));
      return;
    }
    for (std::int64_t i = 0; i < view.shape[axis]; ++i) self(self, axis + 1, offset + i * view.strides[axis]);
  };
  visit(visit, 0, 0);
  return text;
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, gives_back_tensors_metadata_and_strings) {
  Sample sample;
  const FileContents written = sample.contents();
  const TemporaryFile target(std::string("file") + GetParam());
  const std::string& path = target.path();
  const Status status = write_tensor_file(path, written);
  ASSERT_TRUE(status.is_ok()) << status.message();
  auto file = TensorFile::open(path);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size() - (file->format() == FileFormat::kNpz ? written.strings.size() : 0),
            written.tensors.size());
  for (const NamedTensor& tensor : written.tensors) {
    const auto view = file->view(tensor.name);
    ASSERT_TRUE(view.is_ok()) << view.status().message();
    EXPECT_EQ(described(tensor.name, *view), described(tensor.name, tensor.values));
  }
  for (const auto& [key, text] : written.metadata) EXPECT_EQ(file->metadata().at(key), text);
  for (const auto& [key, list] : written.strings) {
    const auto strings = file->strings(key);
    ASSERT_TRUE(strings.is_ok()) << strings.status().message();
    EXPECT_EQ(*strings, list);
  }
}

TEST_P(RoundTrip, the_same_contents_give_the_same_bytes) {
  Sample sample;
  const TemporaryFile target(std::string("file") + GetParam());
  const std::string& path = target.path();
  ASSERT_TRUE(write_tensor_file(path, sample.contents()).is_ok());
  const std::string once = target.read();
  ASSERT_TRUE(write_tensor_file(path, sample.contents()).is_ok());
  EXPECT_EQ(target.read(), once);
}

TEST_P(RoundTrip, nothing_at_all_is_a_file_too) {
  const TemporaryFile target(std::string("file") + GetParam());
  const std::string& path = target.path();
  const Status status = write_tensor_file(path, {});
  ASSERT_TRUE(status.is_ok()) << status.message();
  const auto file = TensorFile::open(path);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_TRUE(file->tensors().empty());
}

INSTANTIATE_TEST_SUITE_P(Format, RoundTrip, testing::Values(".safetensors", ".npz"),
                         [](const auto& format) { return std::string(format.param + 1); });

}  // namespace
}  // namespace qkv
