// Reads safetensors: what is legal is read, and every malformed header is refused with its message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

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

// Every malformed header, the whole message of each.
struct Malformed {
  const char* name;
  std::string json;
  std::size_t data_bytes;
  std::string message;
};
// A sentence in gtest's failure output instead of bytes.
void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::vector<Malformed> malformed_headers() {
  return {
      {"not_utf8", "{\"q\xFF\":1}", 0, "header is not UTF-8 at byte 3"},
      {"empty", "", 0, "header: expected a JSON object, which starts with '{'"},
      {"not_json", "{\"q\":", 0, "header is not JSON at byte 6 of the header"},
      {"a_byte_order_mark", "\xEF\xBB\xBF{}", 0, "header: expected a JSON object, which starts with '{'"},
      {"a_list", "[]", 0, "header: expected a JSON object, which starts with '{'"},
      {"a_second_object", "{}{}", 0, "header is not JSON at byte 3 of the header"},
      {"text_after_a_zero_byte", std::string("{}\0{}", 5), 0, "header is not JSON: it holds a zero byte"},
      {"a_tensor_that_is_a_number", R"({"q":1})", 0, "'q': expected a JSON object, found a number"},
      {"a_tensor_that_is_a_list", R"({"q":[]})", 0, "'q': expected a JSON object, found a list"},
      {"no_dtype", R"({"q":{"shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'q': expected dtype, shape and data_offsets, found not all of them"},
      {"dtype_a_number", R"({"q":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4,
       "dtype of 'q': expected a string, found a number"},
      {"shape_a_number", R"({"q":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4,
       "shape of 'q': expected a list, found a number"},
      {"negative_shape", "{\"q\":" + tensor("F32", "[-1]", "[0,4]") + "}", 4,
       "shape of 'q': expected non-negative integers, found the negative number -1"},
      {"fractional_shape", "{\"q\":" + tensor("F32", "[1.5]", "[0,4]") + "}", 4,
       "shape of 'q': expected non-negative integers, found the number '1.5'"},
      {"shape_of_strings", "{\"q\":" + tensor("F32", "[\"1\"]", "[0,4]") + "}", 4,
       "shape of 'q': expected non-negative integers, found a string"},
      {"shape_of_lists", "{\"q\":" + tensor("F32", "[[1]]", "[0,4]") + "}", 4,
       "shape of 'q': expected non-negative integers, found a list"},
      {"shape_above_63_bits", "{\"q\":" + tensor("F32", "[9223372036854775808]", "[0,4]") + "}", 4,
       "shape of 'q' overflows: 9223372036854775808"},
      {"shape_above_64_bits", "{\"q\":" + tensor("F32", "[99999999999999999999]", "[0,4]") + "}", 4,
       "shape of 'q': expected non-negative integers, found the number '99999999999999999999'"},
      {"product_overflow", "{\"q\":" + tensor("F32", "[4294967296,4294967296]", "[0,4]") + "}", 4,
       "tensor 'q': the size of F32 [4294967296,4294967296] overflows"},
      // 2^62 F32 elements have 2^64 bytes: without a check the product would be 0.
      {"product_that_wraps_to_zero", "{\"q\":" + tensor("F32", "[4611686018427387904]", "[0,0]") + "}", 0,
       "tensor 'q': the size of F32 [4611686018427387904] overflows"},
      {"size_mismatch", "{\"q\":" + tensor("F32", "[2]", "[0,4]") + "}", 4,
       "tensor 'q': F32 [2] takes 8 bytes, but its data_offsets span 4"},
      {"half_a_byte", "{\"q\":" + tensor("F4", "[3]", "[0,2]") + "}", 2,
       "tensor 'q': F4 [3] does not end at a whole byte"},
      {"one_offset", "{\"q\":" + tensor("F32", "[1]", "[0]") + "}", 4,
       "data_offsets of 'q': expected two numbers, found 1"},
      {"three_offsets", "{\"q\":" + tensor("F32", "[1]", "[0,4,8]") + "}", 4,
       "data_offsets of 'q': expected two numbers, found 3"},
      {"negative_offset", "{\"q\":" + tensor("F32", "[1]", "[-4,0]") + "}", 4,
       "data_offsets of 'q': expected non-negative integers, found the negative number -4"},
      {"offsets_reversed", "{\"q\":" + tensor("F32", "[1]", "[4,0]") + "}", 4,
       "data_offsets of 'q' are reversed: [4,0]"},
      {"offsets_out_of_bounds", "{\"q\":" + tensor("F32", "[2]", "[0,8]") + "}", 4,
       "data_offsets [0,8] of 'q' are out of bounds: the file has 4 bytes of data"},
      {"overlap", "{\"q\":" + tensor("F32", "[2]", "[0,8]") + ",\"k\":" + tensor("F32", "[2]", "[4,12]") + "}", 12,
       "tensors 'q' and 'k' overlap: data_offsets [0,8] and [4,12]"},
      {"the_same_bytes_twice",
       "{\"q\":" + tensor("F32", "[1]", "[0,4]") + ",\"k\":" + tensor("F32", "[1]", "[0,4]") + "}", 4,
       "tensors 'q' and 'k' overlap: data_offsets [0,4] and [0,4]"},
      {"a_hole", "{\"q\":" + tensor("F32", "[1]", "[0,4]") + ",\"k\":" + tensor("F32", "[1]", "[8,12]") + "}", 12,
       "bytes 4 to 8 of the data belong to no tensor (a hole before 'k')"},
      {"a_hole_at_the_start", "{\"q\":" + tensor("F32", "[1]", "[4,8]") + "}", 8,
       "bytes 0 to 4 of the data belong to no tensor (a hole before 'q')"},
      {"trailing_bytes", "{\"q\":" + tensor("F32", "[1]", "[0,4]") + "}", 6,
       "2 bytes follow the last tensor; expected none"},
      {"data_without_tensors", "{}", 1, "1 bytes follow the last tensor; expected none"},
      {"a_name_twice", "{\"q\":" + tensor("F32", "[1]", "[0,4]") + ",\"q\":" + tensor("F32", "[1]", "[4,8]") + "}", 8,
       "header has the key 'q' twice"},
      {"a_field_twice", R"({"q":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'q' has the key 'dtype' twice"},
      {"metadata_twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "header has the key '__metadata__' twice"},
      {"metadata_a_list", R"({"__metadata__":[]})", 0, "__metadata__: expected a JSON object, found a list"},
      {"metadata_a_number", R"({"__metadata__":{"n":1}})", 0,
       "__metadata__: expected a string for 'n', found a number"},
      {"metadata_nested", R"({"__metadata__":{"n":{}}})", 0,
       "__metadata__: expected a string for 'n', found an object"},
      {"metadata_null", R"({"__metadata__":{"n":null}})", 0, "__metadata__: expected a string for 'n', found null"},
      {"a_metadata_key_twice", R"({"__metadata__":{"n":"1","n":"2"}})", 0, "__metadata__ has the key 'n' twice"},
      {"a_name_with_terminal_codes", "{\"\\u001b[2J\":1}", 0, "'\\x1b[2J': expected a JSON object, found a number"},
  };
}

class MalformedHeader : public SafetensorsFile, public testing::WithParamInterface<Malformed> {};

TEST_P(MalformedHeader, is_refused_with_its_message) {
  write(GetParam().json, std::string(GetParam().data_bytes, '\0'));
  EXPECT_EQ(refusal(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Safetensors, MalformedHeader, testing::ValuesIn(malformed_headers()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(SafetensorsFile, header_above_100_MB_is_refused_before_the_file_is_looked_at) {
  write_bytes(std::string("\x01\xE1\xF5\x05\0\0\0\0", 8));
  EXPECT_EQ(refusal(), "header says 100000001 bytes; safetensors allows 100000000 (100 MB)");
}

TEST_F(SafetensorsFile, header_length_near_2_to_the_64_does_not_wrap) {
  write_bytes(std::string(8, '\xFF') + "{}");
  EXPECT_EQ(refusal(), "header says 18446744073709551615 bytes; safetensors allows 100000000 (100 MB)");
}

TEST_F(SafetensorsFile, empty_file_is_refused) {
  write_bytes("");
  EXPECT_EQ(refusal(), "the file has 0 bytes; a safetensors file has at least 8");
}

// A recursive parser, or one that destroys a document recursively, would run out of stack here.
TEST_F(SafetensorsFile, a_million_nested_brackets_are_refused_at_the_first) {
  write("{\"q\":" + std::string(1000000, '['), "");
  EXPECT_EQ(refusal(), "'q': expected a JSON object, found a list");
}

TEST_F(SafetensorsFile, unknown_fields_are_skipped_however_deep) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  write(R"({"q":{"dtype":"F32","note":)" + deep +
            R"(,"x":{"dtype":[1,"a",null,true,-1,1.5]},"shape":[],"data_offsets":[0,4]}})",
        floats({7}));
  auto file = TensorFile::open(file_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->view("q")->as<float>()(), 7.0f);
}

TEST_F(SafetensorsFile, scalars_and_empty_tensors_are_legal) {
  write("{\"s\":" + tensor("F32", "[]", "[0,4]") + ",\"e\":" + tensor("F64", "[2,0]", "[0,0]") +
            ",\"z\":" + tensor("F64", "[0]", "[4,4]") + "}  ",
        floats({7}));
  auto file = TensorFile::open(file_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const auto scalar = file->view("s");
  ASSERT_TRUE(scalar.is_ok());
  EXPECT_EQ(scalar->shape.rank(), 0);
  EXPECT_EQ(scalar->as<float>()(), 7.0f);
  const auto empty = file->view("e");
  ASSERT_TRUE(empty.is_ok());
  EXPECT_TRUE(empty->is_present());
  EXPECT_EQ(empty->shape, (Dims{2, 0}));
}

TEST_F(SafetensorsFile, every_element_type_of_qkv_is_read) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"F64", DType::kF64},   {"F32", DType::kF32}, {"BF16", DType::kBF16}, {"F16", DType::kF16},
      {"BOOL", DType::kBool}, {"U8", DType::kU8},   {"I32", DType::kI32},   {"I64", DType::kI64}};
  for (const auto& [name, element] : types) {
    const std::size_t size = size_of(element);
    write("{\"t\":" + tensor(name, "[2]", "[0," + std::to_string(2 * size) + "]") + "}", std::string(2 * size, '\0'));
    auto file = TensorFile::open(file_.path());
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    const auto view = file->view("t");
    ASSERT_TRUE(view.is_ok()) << name;
    EXPECT_EQ(view->dtype, element);
  }
}

// The message behind the path of a view that is refused.
std::string view_refusal(const std::string& path, const std::string& name, StatusCode code) {
  auto file = TensorFile::open(path);
  if (!file.is_ok()) return file.status().message();
  const auto view = file->view(name);
  EXPECT_EQ(view.code(), code);
  const std::string message = view.status().message();
  EXPECT_EQ(message.find("cannot read " + path + ": "), 0u);
  return message.substr(std::min(message.size(), path.size() + 14));
}

TEST_F(SafetensorsFile, other_types_are_listed_and_refused_when_asked_for) {
  for (const std::string dtype : {"F8_E4M3", "F8_E5M2", "I8", "I16", "U16", "U32", "U64", "C64", "F4", "NEW_TYPE"}) {
    const std::size_t bytes = dtype == "F4"           ? 1
                              : dtype.ends_with("16") ? 4
                              : dtype.ends_with("32") ? 8
                              : dtype.ends_with("64") ? 16
                                                      : 2;
    write("{\"t\":" + tensor(dtype, "[2]", "[0," + std::to_string(bytes) + "]") + "}", std::string(bytes, '\0'));
    const auto file = TensorFile::open(file_.path());
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    EXPECT_EQ(file->tensors()[0].dtype, dtype);
    EXPECT_FALSE(file->tensors()[0].element.has_value());
    EXPECT_EQ(
        view_refusal(file_.path(), "t", StatusCode::kUnsupported),
        "tensor 't' is '" + dtype + "': a type that qkv does not read; expected F64 F32 BF16 F16 BOOL U8 I32 or I64");
  }
}

TEST_F(SafetensorsFile, five_axes_are_listed_and_refused_when_asked_for) {
  write("{\"t\":" + tensor("U8", "[1,1,2,1,1]", "[0,2]") + "}", "ab");
  EXPECT_EQ(TensorFile::open(file_.path())->tensors()[0].shape.size(), 5u);
  EXPECT_EQ(view_refusal(file_.path(), "t", StatusCode::kUnsupported),
            "tensor 't' [1,1,2,1,1] has 5 axes; qkv reads at most 4");
}

TEST_F(SafetensorsFile, an_unknown_name_is_answered_with_the_names_that_exist) {
  write(kFour, floats({1, 2, 3, 4}));
  EXPECT_EQ(view_refusal(file_.path(), "k", StatusCode::kInvalidArgument), "it has no tensor 'k'; it has 'q'");
}

TEST_F(SafetensorsFile, a_bool_that_is_neither_0_nor_1_is_refused) {
  write("{\"m\":" + tensor("BOOL", "[3]", "[0,3]") + "}", std::string("\x01\x00\x02", 3));
  EXPECT_EQ(view_refusal(file_.path(), "m", StatusCode::kCorruptFile),
            "tensor 'm': the bool at position 2 is stored as 2; expected 0 or 1");
}

TEST_F(SafetensorsFile, data_that_is_not_aligned_is_copied) {
  for (std::size_t padding = 0; padding < 8; ++padding) {
    write(kFour + std::string(padding, ' '), floats({1, 2, 3, 4}));
    auto file = TensorFile::open(file_.path());
    ASSERT_TRUE(file.is_ok());
    const auto view = file->view("q");
    ASSERT_TRUE(view.is_ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->data) % alignof(float), 0u);
    EXPECT_EQ(view->as<float>()(1, 1), 4.0f);
  }
}

TEST_F(SafetensorsFile, views_outlive_a_move_of_the_file) {
  write(kFour + " ", floats({1, 2, 3, 4}));
  auto opened = TensorFile::open(file_.path());
  const auto view = opened->view("q");
  const TensorFile moved = std::move(opened).value();
  EXPECT_EQ(view->as<float>()(0, 1), 2.0f);
}

TEST_F(SafetensorsFile, tokens_are_a_json_list_in_the_metadata) {
  write(R"({"__metadata__":{"tokens":"[\"␣cat\",\"ed\"]","no":"{}","deep":"[[\"a\"]]","zero":"[\"a\"]\u0000"}})", "");
  auto file = TensorFile::open(file_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(*file->strings("tokens"), (std::vector<std::string>{"␣cat", "ed"}));
  const std::string prefix = "cannot read " + file_.path() + ": ";
  EXPECT_EQ(file->strings("missing").status().message(), prefix + "metadata has no key 'missing'");
  for (const std::string name : {"no", "deep", "zero"}) {
    const std::string message = std::string(prefix).append("metadata '").append(name);
    EXPECT_EQ(file->strings(name).status().message(), message + "': expected a JSON list of strings");
  }
}

TEST(Safetensors, minilm_has_the_heads_and_tokens_of_a_real_model) {
  auto file = TensorFile::open(QKV_SOURCE_DIR "/examples/minilm.safetensors");
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 4u);
  for (const std::string name : {"q", "k", "v", "o"}) {
    const auto view = file->view(name);
    ASSERT_TRUE(view.is_ok()) << view.status().message();
    EXPECT_EQ(view->dtype, DType::kF32);
    EXPECT_EQ(view->shape, (Dims{6, 12, 15, 32}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->data) % 64, 0u);
  }
  const auto tokens = file->strings("tokens");
  ASSERT_TRUE(tokens.is_ok()) << tokens.status().message();
  ASSERT_EQ(tokens->size(), 15u);
  EXPECT_EQ(tokens->at(5), "bank");
  EXPECT_EQ(file->metadata().at("licence"), "Apache-2.0");
}

// Offsets beyond 32 bits: 5 GiB of U8, of which only the last element is stored on the disk.
TEST_F(SafetensorsFile, a_sparse_file_of_5_GiB_is_read_at_its_end) {
  constexpr std::uint64_t kBytes = std::uint64_t{5} << 30;
  const std::string size = std::to_string(kBytes);
  write("{\"big\":" + tensor("U8", "[" + size + "]", "[0," + size + "]") +
            ",\"last\":" + tensor("F32", "[1]", "[" + size + "," + std::to_string(kBytes + 4) + "]") + "}   ",
        "");
  const std::uint64_t header = std::filesystem::file_size(file_.path());
  std::error_code refused;
  std::filesystem::resize_file(file_.path(), header + kBytes, refused);
  if (refused) GTEST_SKIP() << "the file system has no sparse file of 5 GiB: " << refused.message();
  std::ofstream(file_.path(), std::ios::binary | std::ios::app) << floats({7});
  auto file = TensorFile::open(file_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->view("last")->as<float>()(0), 7.0f);
  const auto big = file->view("big");
  ASSERT_TRUE(big.is_ok());
  EXPECT_EQ(big->as<std::uint8_t>()(static_cast<std::int64_t>(kBytes) - 1), 0u);
}

}  // namespace
}  // namespace qkv
