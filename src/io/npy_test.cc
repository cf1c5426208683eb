// Reads npy: what NumPy writes, what others write, and every malformed header refused with its message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

const std::string kFixtures = QKV_SOURCE_DIR "/tests/data/npy/";  // scripts/make_npy_fixtures.py

std::string fixture(std::string_view order, std::string_view name) {
  return std::string(kFixtures).append(order).append(name).append(".npy");
}

// An npy file by hand: version major.0, the literal unpadded, the data.
std::string npy(const std::string& literal, const std::string& data, char major = 1) {
  std::string file = std::string("\x93NUMPY") + major + '\0';
  for (int k = 0; k < (major == 1 ? 2 : 4); ++k) file += static_cast<char>(literal.size() >> (8 * k) & 0xFF);
  return file + literal + data;
}

std::string literal(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

// All elements in row-major order; empty after a failure that gtest reports.
std::vector<double> elements(const View<const void>& view) {
  std::vector<double> values;
  const auto visit = [&](auto&& self, int axis, std::int64_t offset) -> void {
    if (axis == view.shape.rank()) return values.push_back(element_as_double(view, offset));
    for (std::int64_t i = 0; i < view.shape[axis]; ++i) self(self, axis + 1, offset + i * view.strides[axis]);
  };
  visit(visit, 0, 0);
  return values;
}

struct Array {
  DType dtype = DType::kF32;
  Dims shape;
  std::vector<double> values;
};

// The only array of a file, whose tensor is called as the file is.
Array read(const std::string& path) {
  auto file = TensorFile::open(path);
  if (!file.is_ok()) {
    ADD_FAILURE() << file.status().message();
    return {};
  }
  EXPECT_EQ(file->format(), FileFormat::kNpy);
  const auto view = file->view(file->tensors()[0].name);
  EXPECT_TRUE(view.is_ok()) << view.status().message();
  if (!view.is_ok()) return {};
  return {view->dtype, view->shape, elements(*view)};
}

// The message of a file that open() or view() refuses, without its path.
std::string refusal(const std::string& path, StatusCode code) {
  auto file = TensorFile::open(path);
  const Status status = file.is_ok() ? file->view(file->tensors()[0].name).status() : file.status();
  EXPECT_EQ(status.code(), code);
  const std::string prefix = "cannot read " + path + ": ";
  EXPECT_EQ(status.message().substr(0, prefix.size()), prefix);
  return status.message().substr(std::min(status.message().size(), prefix.size()));
}

const std::vector<double> kValues{1.5, -2.0, 0.25, 0.0, 3.0, -0.125};

TEST(Npy, reads_every_floating_type_and_byte_order_as_numpy_writes_it) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"f8", DType::kF64}, {"f4", DType::kF32}, {"f2", DType::kF16}};
  for (const auto& [code, dtype] : types)
    for (const std::string order : {"little_", "big_"}) {
      const Array array = read(fixture(order, code));
      EXPECT_EQ(array.dtype, dtype) << order << code;
      EXPECT_EQ(array.shape, (Dims{2, 3}));
      EXPECT_EQ(array.values, kValues) << order << code;
    }
}

TEST(Npy, reads_integers_and_bools_as_numpy_writes_them) {
  for (const std::string order : {"little_", "big_"})
    for (const std::string code : {"i4", "i8"})
      EXPECT_EQ(read(fixture(order, code)).values, (std::vector<double>{-3, -6, -9, -12, -15, -18}));
  const Array bytes = read(kFixtures + "u1.npy");
  EXPECT_EQ(bytes.dtype, DType::kU8);
  EXPECT_EQ(bytes.values, (std::vector<double>{40, 80, 120, 160, 200, 240}));
  const Array bools = read(kFixtures + "b1.npy");
  EXPECT_EQ(bools.dtype, DType::kBool);
  EXPECT_EQ(bools.values, (std::vector<double>{1, 0, 1, 0, 1, 0}));
}

TEST(Npy, reads_the_three_versions) {
  for (const std::string version : {"v1", "v2", "v3"}) EXPECT_EQ(read(kFixtures + version + ".npy").values, kValues);
}

TEST(Npy, reads_bf16_as_ml_dtypes_writes_it) {
  const Array array = read(kFixtures + "bf16.npy");
  EXPECT_EQ(array.dtype, DType::kBF16);
  EXPECT_EQ(array.values, kValues);
}

TEST(Npy, a_raw_void_of_two_bytes_is_not_bf16) {
  EXPECT_EQ(refusal(kFixtures + "void2.npy", StatusCode::kUnsupported),
            "tensor 'void2' is '|V2': a type that qkv does not read; expected f8 f4 f2, i8 i4, u1, b1, or bfloat16 as "
            "ml_dtypes saves it ('<V2')");
}

TEST(Npy, reads_fortran_order_as_the_matrix_that_was_saved) {
  EXPECT_EQ(read(kFixtures + "fortran_f4.npy").values, kValues);
  EXPECT_EQ(read(kFixtures + "fortran_big_f8.npy").values, kValues);
  const Array array = read(kFixtures + "fortran_4d.npy");
  EXPECT_EQ(array.shape, (Dims{2, 3, 1, 4}));
  std::vector<double> counted(24);
  for (std::size_t i = 0; i < 24; ++i) counted[i] = static_cast<double>(i);
  EXPECT_EQ(array.values, counted);
}

TEST(Npy, reads_scalars_and_empty_arrays) {
  EXPECT_EQ(read(kFixtures + "scalar.npy").shape.rank(), 0);
  EXPECT_EQ(read(kFixtures + "scalar.npy").values, std::vector<double>{2.5});
  EXPECT_EQ(read(kFixtures + "empty.npy").shape, (Dims{2, 0}));
}

TEST(Npy, reads_unicode_arrays_as_strings_of_either_byte_order) {
  const std::vector<std::pair<std::string, std::string>> praca_in = {{"unicode", "praça"}, {"unicode_big", "praç"}};
  for (const auto& [name, praca] : praca_in) {  // '>U4' cuts the fifth letter off
    auto file = TensorFile::open(kFixtures + name + ".npy");
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    const auto strings = file->strings(name);
    ASSERT_TRUE(strings.is_ok()) << strings.status().message();
    EXPECT_EQ(*strings, (std::vector<std::string>{"␣cat", "", praca, "𝄞"}));
  }
}

TEST(Npy, object_arrays_are_refused_and_never_unpickled) {
  EXPECT_EQ(refusal(kFixtures + "object.npy", StatusCode::kUnsupported),
            "tensor 'object' is '|O': an object array, which only unpickling could read; qkv never unpickles");
}

TEST(Npy, structured_complex_and_narrow_types_are_refused) {
  EXPECT_EQ(
      refusal(kFixtures + "structured.npy", StatusCode::kUnsupported),
      "tensor 'structured' is '[('a', '<f4'), ('b, )', '<i4', (2,))]': a structured type; save each field as its own "
      "array");
  for (const std::string name : {"complex", "float8"})
    EXPECT_NE(refusal(kFixtures + name + ".npy", StatusCode::kUnsupported).find("a type that qkv does not read"),
              std::string::npos);
}

// cases.jsonl c106 (rogersce/cnpy#7): 'fortran_order': True must be seen; a reader that misses it gives
// [[1,4,2],[5,3,6]].
TEST(Npy, c106_fortran_order_is_not_missed_in_a_matrix_of_2_by_3) {
  const TemporaryFile file("c106.npy");
  std::string data;
  for (const double value : {1., 4., 2., 5., 3., 6.}) data.append(reinterpret_cast<const char*>(&value), 8);
  file.write(npy(literal("<f8", "(2, 3)", "True"), data));
  EXPECT_EQ(read(file.path()).values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

// cases.jsonl c108 (pmontalb/NpyCpp#2, fortran-lang/stdlib#581): big-endian, header of version 2, data at no multiple
// of anything.
TEST(Npy, c108_big_endian_data_after_an_unpadded_version_2_header_is_read) {
  const TemporaryFile file("c108.npy");
  for (int padding = 0; padding < 8; ++padding) {
    const std::string header =
        "{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}" + std::string(static_cast<std::size_t>(padding), ' ');
    file.write(npy(header, std::string("\x3f\xf0\0\0\0\0\0\0", 8), 2));
    EXPECT_EQ(read(file.path()).values, std::vector<double>{1.0});
  }
}

TEST(Npy, little_endian_data_at_any_address_is_read) {
  const TemporaryFile file("unaligned.npy");
  for (std::size_t padding = 0; padding < 8; ++padding) {
    file.write(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}" + std::string(padding, ' '),
                   std::string("\0\0\0\0\0\0\xf0\x3f", 8)));
    EXPECT_EQ(read(file.path()).values, std::vector<double>{1.0});
  }
}

TEST(Npy, other_spellings_of_the_dictionary_are_read) {
  const TemporaryFile file("spelling.npy");
  for (const std::string header : {R"({"descr":"<f4","fortran_order":False,"shape":(1,)})",
                                   "{ 'shape' : ( 1 , ) , 'fortran_order' : False , 'descr' : '<f4' }",
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (1L,), }",
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1,)}"}) {
    file.write(npy(header, std::string("\0\0\x80\x3f", 4)));
    EXPECT_EQ(read(file.path()).values, std::vector<double>{1.0}) << header;
  }
}

struct Malformed {
  const char* name;
  std::string bytes;
  std::string message;
  StatusCode code = StatusCode::kCorruptFile;
};
void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

std::string header_error(const std::string& expected, std::size_t at, const std::string& header) {
  return "npy header: expected " + expected + " at byte " + std::to_string(at) + " of '" + header + "'";
}

std::vector<Malformed> malformed_files() {
  const std::string four(4, '\0');
  const std::string good = literal("<f4", "(1,)");
  std::vector<Malformed> rows = {
      {"another_magic", "NUMPY\x01" + good, "expected an npy file, which starts with \\x93NUMPY; this one does not"},
      {"cut_in_the_preamble", npy(good, four).substr(0, 9),
       "expected an npy array, which starts with \\x93NUMPY; found 9 bytes that do not"},
      {"header_past_the_end", npy(good, four).substr(0, 40),
       "npy header says " + std::to_string(good.size()) + " bytes, but the file has 40"},
      {"header_of_4_GiB", std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12) + good,
       "npy header says 4294967295 bytes, but the file has " + std::to_string(12 + good.size())},
      {"version_4", npy(good, four, 4), "npy version 4.0 is unknown; expected 1.0, 2.0 or 3.0",
       StatusCode::kUnsupported},
      {"version_0", npy(good, four, 0), "npy version 0.0 is unknown; expected 1.0, 2.0 or 3.0",
       StatusCode::kUnsupported},
      {"data_cut_short", npy(good, "abc"), "the array is cut short: '<f4' [1] takes 4 bytes, but 3 follow the header"},
      {"no_data", npy(literal("<f8", "(1000000, 1000000)"), ""),
       "the array is cut short: '<f8' [1000000,1000000] takes 8000000000000 bytes, but 0 follow the header"},
      {"trailing_bytes", npy(good, "abcde"),
       "1 bytes follow the array '<f4' [1]; expected none (several arrays belong in an npz)"},
      {"product_overflow", npy(literal("<f4", "(4294967296, 4294967296)"), four),
       "npy header: the size of '<f4' [4294967296,4294967296] overflows"},
      {"product_that_wraps_to_zero", npy(literal("<f4", "(4611686018427387904,)"), ""),
       "npy header: the size of '<f4' [4611686018427387904] overflows"},
      {"five_axes", npy(literal("|u1", "(1, 1, 1, 1, 4)"), four),
       "tensor 'array' [1,1,1,1,4] has 5 axes; qkv reads at most 4", StatusCode::kUnsupported},
      {"a_bool_of_2", npy(literal("|b1", "(2,)"), "\x01\x02"),
       "tensor 'array': the bool at position 1 is stored as 2; expected 0 or 1"},
  };
  const auto header = [&](const char* name, const std::string& text, const std::string& expected, std::size_t at) {
    rows.push_back({name, npy(text, four), header_error(expected, at, text)});
  };
  header("empty_header", "", "'{'", 0);
  header("a_list", "[]", "'{'", 0);
  header("no_keys", "{}", "descr, fortran_order and shape, all three,", 2);
  header("no_shape", "{'descr': '<f4', 'fortran_order': True}", "descr, fortran_order and shape, all three,", 39);
  header("unknown_key", "{'descr': '<f4', 'x': 1}", "each of the keys 'descr' 'fortran_order' 'shape' once, found 'x'",
         21);
  header("key_twice", "{'descr': '<f4', 'descr': '<f4'}",
         "each of the keys 'descr' 'fortran_order' 'shape' once, found 'descr'", 25);
  header("key_without_quotes", "{descr: 1}", "one of the keys 'descr' 'fortran_order' 'shape'", 1);
  header("open_string", "{'descr", "the end of a string", 1);
  header("escape", "{'descr': '\\x3cf4'}", "a string without escapes", 10);
  header("no_colon", "{'descr' '<f4'}", "':'", 9);
  header("no_comma", "{'descr': '<f4' 'shape': ()}", "',' or '}'", 16);
  header("order_a_number", "{'fortran_order': 1}", "True or False", 18);
  header("shape_a_list", "{'shape': [2]}", "a shape such as (2, 3)", 10);
  header("shape_a_number", "{'shape': (2)}", "',' after the only extent", 12);
  header("shape_negative", "{'shape': (-2,)}", "a non-negative integer", 11);
  header("shape_fractional", "{'shape': (2.5,)}", "',' or ')'", 12);
  header("shape_an_expression", "{'shape': (2*3,)}", "',' or ')'", 12);
  header("shape_a_call", "{'shape': (f(),)}", "a non-negative integer", 11);
  header("shape_too_large", "{'shape': (9223372036854775808,)}", "an extent below 2^63", 29);
  header("two_commas", "{'shape': (2,,)}", "a non-negative integer", 13);
  header("end_missing", "{'shape': (2,", "a non-negative integer", 13);
  header("type_never_ends", "{'descr': [('a', '<f4')", "the end of a structured type", 23);
  header("brackets_that_cross", "{'descr': [(])}", "a matching bracket", 12);
  header("brackets_too_deep", "{'descr': " + std::string(40, '['), "fewer brackets", 42);
  rows.push_back(
      {"text_after_the_dictionary", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", four),
       header_error("nothing but spaces after '}'", 56, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x")});
  return rows;
}

class MalformedNpy : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedNpy, is_refused_with_its_message) {
  const TemporaryFile file("array.npy");
  file.write(GetParam().bytes);
  EXPECT_EQ(refusal(file.path(), GetParam().code), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Npy, MalformedNpy, testing::ValuesIn(malformed_files()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Npy, text_that_is_no_unicode_is_refused) {
  const TemporaryFile path("text.npy");
  path.write(npy(literal("<U1", "(1,)"), std::string("\x00\xD8\0\0", 4)));
  auto file = TensorFile::open(path.path());
  ASSERT_TRUE(file.is_ok());
  EXPECT_EQ(file->strings("text").status().message(),
            "cannot read " + path.path() + ": 55296 is no Unicode code point");
  EXPECT_EQ(file->strings("q").status().message(), "cannot read " + path.path() + ": it holds one array, 'text'");
  EXPECT_EQ(file->view("text").status().message(),
            "cannot read " + path.path() + ": tensor 'text' is '<U1': text; it is read as a list of strings only");
}

// '<U0' strings take no bytes: a billion of them must not become a list.
TEST(Npy, strings_without_width_are_refused) {
  const TemporaryFile path("text.npy");
  path.write(npy(literal("<U0", "(1000000000000,)"), ""));
  auto file = TensorFile::open(path.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->strings("text").code(), StatusCode::kUnsupported);
}

TEST(Npy, numbers_are_no_strings) {
  auto file = TensorFile::open(kFixtures + "v1.npy");
  EXPECT_EQ(file->strings("v1").status().message(),
            "cannot read " + kFixtures + "v1.npy: expected a list of strings ('<U12', one axis), found '<f4' [2,3]");
}

TEST(Npy, writes_what_numpy_writes_byte_for_byte) {
  const TemporaryFile file("written.npy");
  std::vector<float> values{1.5f, -2.0f, 0.25f, 0.0f, 3.0f, -0.125f};
  const Status status = write_tensor_file(file.path(), {{{"q", View<const float>(values.data(), {2, 3})}}, {}, {}});
  ASSERT_TRUE(status.is_ok()) << status.message();
  std::ifstream numpy(kFixtures + "v1.npy", std::ios::binary);
  EXPECT_EQ(file.read(), std::string(std::istreambuf_iterator<char>(numpy), {}));
}

TEST(Npy, holds_one_array_only) {
  const TemporaryFile file("written.npy");
  EXPECT_EQ(write_tensor_file(file.path(), {{}, {{"a", "b"}}, {}}).message(),
            "cannot write " + file.path() +
                ": an npy file holds exactly one array, without metadata; found 0 tensors, 1 "
                "entries of metadata. Write an npz or a safetensors file");
}

}  // namespace
}  // namespace qkv
