// Valid files with bytes flipped, cut out, added and repeated: read or refused, never a crash, never much memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/core/sanitizers.h"
#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

// A sanitizer's shadow memory counts too, so that no limit can be set.
constexpr bool kSanitized = QKV_ADDRESS_SANITIZER || QKV_THREAD_SANITIZER;

constexpr int kMutations = 1500;  // of each file; a few seconds in all
// The files have at most 3 kB, which deflated could stand for 3 MB.
constexpr std::uint64_t kMostMemory = 16u << 20;

// From now on this process gets only so much more memory; who asks for more ends in bad_alloc or kOutOfMemory.
void limit_memory() {
  std::ifstream status("/proc/self/statm");
  std::uint64_t pages[6] = {};  // size resident shared text library data
  for (std::uint64_t& each : pages) status >> each;
  const rlim_t limit = pages[5] * 4096 + kMostMemory;
  const rlimit both{limit, limit};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &both), 0);
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string mutate(std::string bytes) {
    for (std::size_t count = 1 + below(3); count > 0 && !bytes.empty(); --count) change(bytes);
    // Half of the safetensors get a header length that fits again, or nearly nothing would pass the first check.
    if (bytes.size() > 8 && bytes[8] == '{' && below(2) == 0) {
      const std::size_t length = bytes.find_last_of('}') - 7;
      for (std::size_t k = 0; k < 8; ++k) bytes[k] = static_cast<char>(length >> (8 * k) & 0xFF);
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void change(std::string& bytes) {
    constexpr char kTelling[] = "\0\xFF\x7F\x80[]{}()\",:-0123456789.eEL";
    const std::size_t at = below(bytes.size());
    const std::size_t length = below(std::min<std::size_t>(16, bytes.size() - at)) + 1;
    switch (below(7)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: bytes[at] = kTelling[below(sizeof kTelling - 1)]; break;
      case 3: bytes.resize(at); break;
      case 4: bytes.append(length, static_cast<char>(below(256))); break;
      case 5: bytes.erase(at, length); break;
      default: bytes.insert(at, bytes.substr(at, length)); break;
    }
  }

  std::mt19937 random_;
};

// Everything that can be asked of a file. True if it was opened.
bool read_all(const std::string& path) {
  auto file = TensorFile::open(path);
  EXPECT_NE(file.code(), StatusCode::kOutOfMemory) << file.status().message();
  if (!file.is_ok()) return false;
  for (const StoredTensor& tensor : file->tensors()) {
    const auto view = file->view(tensor.name);
    EXPECT_NE(view.code(), StatusCode::kOutOfMemory) << view.status().message();
    if (view.is_ok() && element_count(view->shape) > 0) {
      std::int64_t last = 0;
      for (int axis = 0; axis < view->shape.rank(); ++axis) last += (view->shape[axis] - 1) * view->strides[axis];
      // Memory that is not there would end the process here.
      const double volatile sum = element_as_double(*view, 0) + element_as_double(*view, last);
      static_cast<void>(sum);
    }
    static_cast<void>(file->strings(tensor.name).is_ok());
  }
  for (const auto& [key, value] : file->metadata()) static_cast<void>(file->strings(key).is_ok());
  return true;
}

std::string fixture(const std::string& name) {
  std::ifstream file(QKV_SOURCE_DIR "/tests/data/npy/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string safetensors() {
  const TemporaryFile file("valid.safetensors");
  const std::vector<double> numbers(6, 0.5);
  const bool flags[2] = {true, false};
  const FileContents contents{{{"q", View<const double>(numbers.data(), {2, 3})},
                               {"empty", View<const double>(numbers.data(), {2, 0})},
                               {"keep", View<const bool>(flags, {2})}},
                              {{"note", "x"}},
                              {{"tokens", {"a", "b"}}}};
  EXPECT_TRUE(write_tensor_file(file.path(), contents).is_ok());
  return file.read();
}

void read_mutants_of(const std::string& valid, const std::string& name, std::uint32_t seed) {
  const TemporaryFile file(name);
  file.write(valid);
  ASSERT_TRUE(read_all(file.path()));
  Mutator mutator(seed);
  int opened = 0;
  for (int i = 0; i < kMutations; ++i) {
    file.write(mutator.mutate(valid));
    opened += read_all(file.path()) ? 1 : 0;
  }
  // Were all refused, or none, the mutations would test nothing.
  EXPECT_GT(opened, kMutations / 100) << name;
  EXPECT_LT(opened, kMutations * 99 / 100) << name;
}

TEST(Mutation, no_mutant_of_a_valid_file_crashes_or_takes_memory) {
  std::vector<std::pair<std::string, std::string>> files = {{"valid.safetensors", safetensors()}};
  for (const std::string name : {"v1.npy", "v2.npy", "fortran_big_f8.npy", "structured.npy", "unicode.npy", "b1.npy",
                                 "stored.npz", "deflated.npz", "zip64.npz"})
    files.emplace_back(name, fixture(name));
  if (!kSanitized) limit_memory();
  std::uint32_t seed = 1;
  for (const auto& [name, bytes] : files) read_mutants_of(bytes, name, seed++);
}

}  // namespace
}  // namespace qkv
