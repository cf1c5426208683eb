// Read loops in assembly: a compiler drops loads whose values nobody wants.
#include "bench/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "qkv/target.h"

namespace qkv::bench {
namespace {

constexpr std::size_t kStreams = 4;
constexpr std::size_t kStep = 128;  // bytes of each stream a turn
constexpr std::size_t kPage = 4096;

// Each loop reads `count` bytes (a multiple of kStep) from every one of four places, in turn.
#if defined(__x86_64__)
#define QKV_READ_512(place, i, j) "vmovups (" place ",%[at]), %%zmm" i "\n vmovups 64(" place ",%[at]), %%zmm" j "\n"
#define QKV_READ_256(place, i, j)                                                \
  "vmovups (" place ",%[at]), %%ymm" i "\n vmovups 32(" place ",%[at]), %%ymm" j \
  "\n"                                                                           \
  "vmovups 64(" place ",%[at]), %%ymm" i "\n vmovups 96(" place ",%[at]), %%ymm" j "\n"
#define QKV_READ_LOOP(READ)                                                                                      \
  std::size_t at = 0;                                                                                            \
  asm volatile("1:\n" READ("%[a]", "0", "1") READ("%[b]", "2", "3") READ("%[c]", "4", "5")                       \
                   READ("%[d]", "6", "7") "add $128, %[at]\n cmp %[count], %[at]\n jb 1b\n"                      \
               : [at] "+r"(at)                                                                                   \
               : [a] "r"(place), [b] "r"(place + count), [c] "r"(place + 2 * count), [d] "r"(place + 3 * count), \
                 [count] "r"(count)                                                                              \
               : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7")

void read_512(const char* place, std::size_t count) { QKV_READ_LOOP(QKV_READ_512); }
void read_256(const char* place, std::size_t count) { QKV_READ_LOOP(QKV_READ_256); }
#endif

void read_words(const char* place, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < count; at += kStep)
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      std::uint64_t words[kStep / sizeof(std::uint64_t)];
      std::memcpy(words, place + stream * count + at, kStep);
      for (const std::uint64_t word : words) sum += word;
    }
  asm volatile("" : : "r"(sum));
}

using Reader = void (*)(const char* place, std::size_t count);

Reader reader_of_machine() {
#if defined(__x86_64__)
  const Target best = available_targets().front();
  if (best == Target::kAvx512 || best == Target::kAvx512Bf16) return &read_512;
  if (best == Target::kAvx2) return &read_256;
#endif
  return &read_words;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void ReadLoop::Free::operator()(char* memory) const { std::free(memory); }

ReadLoop::ReadLoop(std::size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
  memory_.reset(static_cast<char*>(std::aligned_alloc(kPage, bytes_)));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 1, bytes_);
}

double ReadLoop::measure(double seconds, int threads) const {
  const Reader read = reader_of_machine();
  const auto parts = static_cast<std::size_t>(std::max(1, threads));
  const std::size_t count = bytes_ / parts / kStreams / kStep * kStep;  // bytes a stream
  const double start = seconds_now();
  std::vector<double> passes(parts);
  std::vector<double> ends(parts);
  const auto work = [&](std::size_t part) {
    do {
      read(memory_.get() + part * kStreams * count, count);
      passes[part] += 1;
      ends[part] = seconds_now();
    } while (ends[part] - start < seconds);
  };
  std::vector<std::thread> others;
  for (std::size_t part = 1; part < parts; ++part) others.emplace_back(work, part);
  work(0);
  for (std::thread& other : others) other.join();
  double rate = 0;
  for (std::size_t part = 0; part < parts; ++part)
    rate += passes[part] * static_cast<double>(kStreams * count) / (ends[part] - start);
  return rate;
}

double measure_read_bandwidth(double seconds, int threads) {
  static const ReadLoop loop(std::size_t{1} << 30);
  return loop.measure(seconds, threads);
}

}  // namespace qkv::bench
