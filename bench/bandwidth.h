// The ceiling of a decode: bytes read a second, with nothing else in the way.
#ifndef QKV_BENCH_BANDWIDTH_H_
#define QKV_BENCH_BANDWIDTH_H_

#include <cstddef>
#include <memory>

namespace qkv::bench {

// Memory that is read over and over. Four interleaved streams a thread: one alone leaves a third of the bandwidth.
class ReadLoop {
 public:
  // `bytes`: what the timed call reads, so that both find as much of it in a cache. Touches the memory once.
  explicit ReadLoop(std::size_t bytes);

  // Bytes a second (wall time) of `threads` threads that share the memory, over whole passes of about `seconds` in all.
  double measure(double seconds, int threads) const;

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  std::size_t bytes_;
  std::unique_ptr<char, Free> memory_;
};

// The same over 1 GiB, far more than a cache holds; kept until the process ends.
double measure_read_bandwidth(double seconds, int threads);

}  // namespace qkv::bench

#endif  // QKV_BENCH_BANDWIDTH_H_
