// Element types: names, sizes, and the two 16-bit floats.
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "qkv/tensor.h"

namespace qkv {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kF64, "f64", 8, true},  {DType::kF32, "f32", 4, true},    {DType::kBF16, "bf16", 2, true},
    {DType::kF16, "f16", 2, true},  {DType::kBool, "bool", 1, false}, {DType::kU8, "u8", 1, false},
    {DType::kI32, "i32", 4, false}, {DType::kI64, "i64", 8, false},
};

const DTypeRow& row_of(DType dtype) {
  for (const DTypeRow& row : kDTypes)
    if (row.dtype == dtype) return row;
  return kDTypes[0];
}

// The double as f32, rounded to odd: the bit below the last kept one remembers that something was cut off, so that a
// second rounding to fewer bits gives what one rounding would have (Boldo and Melquiond 2008).
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value || std::isinf(value)) return nearest;
  float low = nearest;
  if (std::isinf(nearest))
    low = std::copysign(std::numeric_limits<float>::max(), nearest);
  else if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    low = std::nextafter(nearest, 0.0f);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(low) | 1u);
}

}  // namespace

std::string_view to_string(DType dtype) { return row_of(dtype).name; }

std::size_t size_of(DType dtype) { return row_of(dtype).size; }

bool is_floating(DType dtype) { return row_of(dtype).floating; }

Result<DType> parse_dtype(std::string_view name) {
  std::string known;
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
    known += known.empty() ? "" : " ";
    known += row.name;
  }
  return invalid_argument("unknown element type '" + std::string(name) + "'; expected one of: " + known);
}

float to_float(bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

float to_float(f16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1Fu;
  const std::uint32_t mantissa = value.bits & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

bf16 to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};  // quiet, payload kept
  const std::uint32_t nearest_even = 0x7FFFu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>((bits + nearest_even) >> 16)};
}

f16 to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return {static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu))};
  if (magnitude >= 0x477FF000u) return {static_cast<std::uint16_t>(sign | 0x7C00u)};  // >= 65520 rounds to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: count in units of 2^-24; f32 addition of 0.5 rounds to nearest even
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u))};
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

bf16 to_bf16(double value) { return to_bf16(round_to_odd(value)); }

f16 to_f16(double value) { return to_f16(round_to_odd(value)); }

}  // namespace qkv
