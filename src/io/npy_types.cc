// Element types of npy arrays.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "src/io/npy_header.h"

namespace qkv {
namespace {

struct Row {
  std::string_view code;  // the descr without its byte order
  DType element;
};
// ml_dtypes' bfloat16 is not a type of NumPy and is saved as '<V2'; a raw two-byte void would be '|V2'.
constexpr Row kRows[] = {
    {"f8", DType::kF64},  {"f4", DType::kF32}, {"f2", DType::kF16}, {"V2", DType::kBF16},
    {"b1", DType::kBool}, {"u1", DType::kU8},  {"i4", DType::kI32}, {"i8", DType::kI64},
};

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool order_fits(char order, std::string_view code) {
  if (code == "V2") return order == '<';  // exactly what ml_dtypes writes
  return order == '<' || order == '>' || (order == '|' && code.back() == '1');
}

// Kinds of NumPy whose size is the number behind the letter: signed, unsigned, float, complex, bytes, void, bool.
constexpr std::string_view kSizedKinds = "iufcSVb";
// Larger elements do not exist; the limit keeps products small.
constexpr std::uint64_t kLargestElement = std::uint64_t{1} << 40;

}  // namespace

NpyType npy_type(std::string_view descr) {
  NpyType type;
  if (descr.size() < 3) return type;
  const std::string_view code = descr.substr(1);
  type.byte_order = descr[0] == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  const auto size = number(code.substr(1));
  if (!size || *size > kLargestElement) return type;
  if (code[0] == 'U' && (descr[0] == '<' || descr[0] == '>')) {
    type.characters = *size;
    type.bytes_each = *size * 4;
  } else if (kSizedKinds.find(code[0]) != std::string_view::npos) {
    type.bytes_each = size;
  }
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& known) { return known.code == code; });
  if (row != std::end(kRows) && order_fits(descr[0], code)) type.element = row->element;
  return type;
}

std::string npy_refusal(std::string_view descr) {
  if (descr.size() > 1 && descr[1] == 'O')
    return "an object array, which only unpickling could read; qkv never unpickles";
  if (!descr.empty() && (descr[0] == '[' || descr[0] == '('))
    return "a structured type; save each field as its own array";
  if (descr.size() > 1 && descr[1] == 'U') return "text; it is read as a list of strings only";
  return "a type that qkv does not read; expected f8 f4 f2, i8 i4, u1, b1, or bfloat16 as ml_dtypes saves it ('<V2')";
}

std::string_view npy_descr(DType element) {
  switch (element) {
    case DType::kF64: return "<f8";
    case DType::kF32: return "<f4";
    case DType::kBF16: return "<V2";
    case DType::kF16: return "<f2";
    case DType::kBool: return "|b1";
    case DType::kU8: return "|u1";
    case DType::kI32: return "<i4";
    case DType::kI64: return "<i8";
  }
  return "";
}

}  // namespace qkv
