// The element types of safetensors.
#include <algorithm>
#include <iterator>

#include "src/io/safetensors_header.h"

namespace qkv {
namespace {

// The list of safetensors 0.6; those without an element are listed and refused when asked for.
constexpr SafetensorsType kTypes[] = {
    {"F64", 64, DType::kF64},         {"F32", 32, DType::kF32},     {"BF16", 16, DType::kBF16},
    {"F16", 16, DType::kF16},         {"BOOL", 8, DType::kBool},    {"U8", 8, DType::kU8},
    {"I32", 32, DType::kI32},         {"I64", 64, DType::kI64},     {"I8", 8, std::nullopt},
    {"I16", 16, std::nullopt},        {"U16", 16, std::nullopt},    {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},        {"C64", 64, std::nullopt},    {"F8_E5M2", 8, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},     {"F8_E8M0", 8, std::nullopt}, {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt}, {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},
};

}  // namespace

const SafetensorsType* find_safetensors_type(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string_view safetensors_name(DType element) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.element == element; });
  return found->name;  // every DType has a row
}

}  // namespace qkv
