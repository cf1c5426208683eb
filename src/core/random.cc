// SplitMix64 as a counter (Steele, Lea, Flood 2014) and Marsaglia's polar method.
#include "src/core/random.h"

#include <cmath>

namespace qkv {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: SplitMix64's step

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// ln x for 0 < x < 1, within a few ulp: x = m 2^e with m in [√½, √2), ln m = 2 artanh((m − 1) / (m + 1)).
double natural_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);  // |z| < 0.172, so 11 terms reach 1e-18
  double sum = 0;
  for (int term = 21; term >= 1; term -= 2) sum = sum * z * z + 1.0 / term;
  return 2 * z * sum + exponent * kLn2;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream)
    : start_(mix(mix(seed + kGolden) ^ (stream * kGolden))) {}

std::uint64_t RandomStream::bits(std::uint64_t index) const { return mix(start_ + (index + 1) * kGolden); }

double RandomStream::uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }

double RandomStream::normal(std::uint64_t index) const {
  constexpr std::uint64_t kTries = 32;  // each fails with probability 1 − π/4: all of them never do
  for (std::uint64_t t = 0; t < kTries; ++t) {
    const double x = 2 * uniform((index * kTries + t) * 2) - 1;
    const double y = 2 * uniform((index * kTries + t) * 2 + 1) - 1;
    const double square = x * x + y * y;
    if (square < 1 && square > 0) return x * std::sqrt(-2 * natural_log(square) / square);
  }
  return 0;
}

}  // namespace qkv
