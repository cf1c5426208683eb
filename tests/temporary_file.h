// A file of one test, removed at its end. For tests only.
#ifndef QKV_TESTS_TEMPORARY_FILE_H_
#define QKV_TESTS_TEMPORARY_FILE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace qkv {

class TemporaryFile {
 public:
  // In a folder of its own, so that a test can see what else was left there.
  explicit TemporaryFile(const std::string& name) {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string unique = std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(::getpid());
    std::replace(unique.begin(), unique.end(), '/', '.');
    folder_ = testing::TempDir() + unique;
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/" + name;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }

  // A new file each time: ext4 flushes one that is truncated and written again to the disk.
  void write(const std::string& bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_, path_;
};

}  // namespace qkv

#endif  // QKV_TESTS_TEMPORARY_FILE_H_
