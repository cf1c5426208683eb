// Reads safetensors: what is legal is read, and every malformed header is refused with its message.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/io/temporary_file.h"
#include "src/io/tensor_file.h"

namespace qkv {
namespace {

class SafetensorsFile : public testing::Test {
 protected:
  void write_bytes(const std::string& bytes) { file_.write(bytes); }

  // The format by hand: length, JSON, data.
  void write(const std::string& json, const std::string& data) {
    std::string length(8, '\0');
    for (std::size_t k = 0; k < 8; ++k) length[k] = static_cast<char>(json.size() >> (8 * k) & 0xFF);
    write_bytes(length + json + data);
  }

  // The message of a refused file, without its path.
  std::string refusal(StatusCode code = StatusCode::kCorruptFile) const {
    const auto file = TensorFile::open(file_.path());
    if (file.is_ok()) return "opened";
    EXPECT_EQ(file.code(), code);
    const std::string prefix = "cannot read " + file_.path() + ": ";
    const std::string message = file.status().message();
    EXPECT_EQ(message.substr(0, prefix.size()), prefix);
    return message.substr(prefix.size());
  }

  TemporaryFile file_{"file.safetensors"};
};

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const std::string kFour = R"({"q":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

TEST_F(SafetensorsFile, gives_name_type_shape_and_values) {
  write(kFour, floats({1, 2, 3, 4}));
  auto file = TensorFile::open(file_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->format(), FileFormat::kSafetensors);
  ASSERT_EQ(file->tensors().size(), 1u);
  const StoredTensor& q = file->tensors()[0];
  EXPECT_EQ(q.name, "q");
  EXPECT_EQ(q.dtype, "F32");
  EXPECT_EQ(q.element, DType::kF32);
  EXPECT_EQ(q.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(q.bytes, 16u);
  const auto view = file->view("q");
  ASSERT_TRUE(view.is_ok());
  EXPECT_EQ(view->as<float>()(1, 0), 3.0f);
}

TEST_F(SafetensorsFile, smaller_than_its_length_field_is_refused) {
  write_bytes("abc");
  EXPECT_EQ(refusal(), "the file has 3 bytes; a safetensors file has at least 8");
}

TEST_F(SafetensorsFile, header_past_the_end_is_refused) {
  write_bytes(std::string("\x87\xd6\x12\0\0\0\0\0", 8) + std::string(32, ' '));
  EXPECT_EQ(refusal(), "header says 1234567 bytes, but the file has 40");
}

}  // namespace
}  // namespace qkv
