// Reads npz: what NumPy writes, stored, deflated and zip64; and archives that lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

const std::string kFixtures = QKV_SOURCE_DIR "/tests/data/npy/";  // scripts/make_npy_fixtures.py

std::string fixture(const std::string& name) {
  std::ifstream file(kFixtures + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class NumpyArchive : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = TensorFile::open(kFixtures + GetParam());
    ASSERT_TRUE(opened.is_ok()) << opened.status().message();
    file_.emplace(std::move(opened).value());
  }
  std::optional<TensorFile> file_;
};

TEST_P(NumpyArchive, lists_arrays_without_their_ending) {
  EXPECT_EQ(file_->format(), FileFormat::kNpz);
  std::vector<std::string> listed;
  for (const StoredTensor& tensor : file_->tensors()) listed.push_back(tensor.name + " " + tensor.dtype);
  EXPECT_EQ(listed, (std::vector<std::string>{"q <f4", "mask |b1", "big >f4", "fortran <f8", "bf16 <V2", "tokens <U4",
                                              "objects |O"}));
}

TEST_P(NumpyArchive, gives_the_same_matrix_in_every_type_and_order) {
  for (const std::string name : {"q", "big", "fortran", "bf16"}) {
    const auto view = file_->view(name);
    ASSERT_TRUE(view.is_ok()) << view.status().message();
    EXPECT_EQ(view->shape, (Dims{2, 3}));
    const std::vector<double> expected{1.5, -2.0, 0.25, 0.0, 3.0, -0.125};
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(element_as_double(*view, i / 3 * view->strides[0] + i % 3 * view->strides[1]),
                expected[static_cast<std::size_t>(i)])
          << name;
  }
  EXPECT_TRUE(file_->view("mask")->as<bool>()(1, 1));
}

TEST_P(NumpyArchive, the_second_view_of_an_array_is_the_first) {
  EXPECT_EQ(file_->view("big")->data, file_->view("big")->data);
}

TEST_P(NumpyArchive, gives_tokens_as_strings_and_a_single_string_as_metadata) {
  EXPECT_EQ(*file_->strings("tokens"), (std::vector<std::string>{"␣cat", "ed"}));
  EXPECT_EQ(file_->metadata(), (Metadata{{"sentence", "a praça"}}));
}

TEST_P(NumpyArchive, refuses_what_is_no_array_of_numbers) {
  const std::string prefix = "cannot read " + kFixtures + GetParam() + ": ";
  EXPECT_EQ(
      file_->view("objects").status().message(),
      prefix + "tensor 'objects' is '|O': an object array, which only unpickling could read; qkv never unpickles");
  EXPECT_EQ(file_->strings("objects").status().message(),
            prefix +
                "array 'objects': expected a list of strings ('<U12', one axis), found '|O' [1]: an object array, "
                "which only unpickling could read; qkv never unpickles");
  EXPECT_EQ(file_->strings("none").status().message(), prefix + "it has no array 'none'");
  EXPECT_EQ(file_->view("none").code(), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Npz, NumpyArchive, testing::Values("stored.npz", "deflated.npz", "zip64.npz"),
                         [](const auto& file) { return std::string(file.param, std::string(file.param).find('.')); });

// The whole chain open, view of every tensor: the first message, or "" if all went well.
std::string first_refusal(const TemporaryFile& path, StatusCode code = StatusCode::kCorruptFile) {
  auto file = TensorFile::open(path.path());
  Status status = file.status();
  if (file.is_ok())
    for (const StoredTensor& tensor : file->tensors())
      if (status.is_ok() && tensor.element) status = file->view(tensor.name).status();
  if (status.is_ok()) return "";
  EXPECT_EQ(status.code(), code);
  return status.message().substr(std::min(status.message().size(), path.path().size() + 14));
}

// The archive with `bytes` written over what lies `offset` behind the place of `mark`, the last one if `last`.
std::string patched(std::string archive, const std::string& mark, std::size_t offset, const std::string& bytes,
                    bool last = false) {
  const std::size_t at = last ? archive.rfind(mark) : archive.find(mark);
  EXPECT_NE(at, std::string::npos);
  return archive.replace(at + offset, bytes.size(), bytes);
}

const std::string kCentral("PK\x01\x02", 4);  // the first entry of the central directory is q.npy

TEST(Npz, a_flipped_bit_of_data_fails_its_checksum) {
  const TemporaryFile file("a.npz");
  file.write(patched(fixture("stored.npz"), "'shape': (2, 3)", 100, "\x01"));
  EXPECT_EQ(first_refusal(file), "tensor 'q': zip archive: CRC error");
}

TEST(Npz, a_size_that_the_stored_bytes_cannot_hold_is_refused_before_memory_is_taken) {
  const TemporaryFile file("a.npz");
  file.write(patched(fixture("deflated.npz"), kCentral, 24, "\xF0\xFF\xFF\xFF"));
  EXPECT_NE(first_refusal(file).find("says that it has 4294967280 bytes in "), std::string::npos);
  file.write(patched(fixture("stored.npz"), kCentral, 24, "\xF0\xFF\xFF\xFF"));
  EXPECT_NE(first_refusal(file).find("says that it has 4294967280 bytes in 152 stored ones"), std::string::npos);
}

TEST(Npz, a_size_that_disagrees_with_the_shape_is_refused) {
  const TemporaryFile file("a.npz");
  file.write(patched(fixture("deflated.npz"), kCentral, 24, std::string("\x99\0\0\0", 4)));
  EXPECT_EQ(first_refusal(file),
            "member 'q.npy': 1 bytes follow the array '<f4' [2,3]; expected none (several arrays belong in an npz)");
}

TEST(Npz, encrypted_members_are_refused) {
  const TemporaryFile file("a.npz");
  file.write(patched(fixture("stored.npz"), kCentral, 8, "\x01"));
  EXPECT_EQ(first_refusal(file, StatusCode::kUnsupported), "member 'q.npy' is encrypted");
}

TEST(Npz, other_ways_of_compression_are_refused) {
  const TemporaryFile file("a.npz");
  file.write(patched(fixture("stored.npz"), kCentral, 10, "\x0C"));
  EXPECT_EQ(first_refusal(file, StatusCode::kUnsupported),
            "member 'q.npy' is compressed by method 12; expected stored or deflated");
}

TEST(Npz, an_archive_cut_anywhere_is_refused) {
  const TemporaryFile file("a.npz");
  const std::string archive = fixture("deflated.npz");
  for (std::size_t size = 0; size < archive.size(); size += 7) {
    file.write(archive.substr(0, size));
    EXPECT_NE(first_refusal(file), "") << size;
  }
}

// libzip would allocate 2^56 entries.
TEST(Npz, a_zip64_end_record_that_claims_too_many_members_is_refused) {
  const TemporaryFile file("a.npz");
  std::string record("PK\x06\x06", 4);
  record += std::string("\x2C\0\0\0\0\0\0\0\x2D\0\x2D\0", 12) + std::string(8, '\0');
  const std::string entries("\0\0\0\0\0\0\0\x01", 8);
  record += entries + entries + std::string(16, '\0');
  const std::string locator = std::string("PK\x06\x07", 4) + std::string(4, '\0') +
                              std::string("\x04\0\0\0\0\0\0\0", 8) + std::string("\x01\0\0\0", 4);
  const std::string end =
      std::string("PK\x05\x06", 4) + std::string(4, '\0') + std::string(12, '\xFF') + std::string(2, '\0');
  file.write(std::string("PK\x03\x04", 4) + record + locator + end);
  EXPECT_EQ(first_refusal(file),
            "the zip archive says that it has 72057594037927936 members, but the file has 102 bytes");
}

TEST(Npz, what_is_no_archive_is_refused) {
  const TemporaryFile file("a.npz");
  file.write("hello");
  EXPECT_EQ(first_refusal(file), "expected an npz file, which is a zip archive; this one is none");
}

TEST(Npz, the_same_name_twice_is_refused) {
  const TemporaryFile file("a.npz");
  const std::vector<float> numbers{1, 2};
  const View<const float> view(numbers.data(), {2});
  ASSERT_TRUE(write_tensor_file(file.path(), {{{"a", view}, {"b", view}}, {}, {}}).is_ok());
  std::string archive = file.read();
  archive = patched(archive, "b.npy", 0, "a");        // the member
  archive = patched(archive, "b.npy", 0, "a", true);  // its entry in the directory
  file.write(archive);
  EXPECT_EQ(first_refusal(file), "it has the array 'a' twice");
}

}  // namespace
}  // namespace qkv
