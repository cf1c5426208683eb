// Random numbers that are the same on every machine, to the last bit, in whatever order they are asked for.
#ifndef QKV_SRC_CORE_RANDOM_H_
#define QKV_SRC_CORE_RANDOM_H_

#include <cstdint>

namespace qkv {

// A stream is one tensor of one seed; its numbers are addressed by index, so that a tensor's values do not depend on
// its layout or on which of them are made.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream);

  std::uint64_t bits(std::uint64_t index) const;
  double uniform(std::uint64_t index) const;  // [0, 1), 53 bits
  // N(0,1). Uses + - * / sqrt only, which IEEE 754 rounds alike everywhere (a libm's log and cos are not).
  double normal(std::uint64_t index) const;

 private:
  std::uint64_t start_;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_RANDOM_H_
