// Element types of DLPack and ours.
#ifndef QKV_APPS_PYTHON_DLPACK_TYPES_H_
#define QKV_APPS_PYTHON_DLPACK_TYPES_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>

#include "qkv/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

struct DlpackType {
  DType dtype;
  nb::dlpack::dtype_code code;
  int bits;
};
inline constexpr DlpackType kDlpackTypes[] = {
    {DType::kF64, nb::dlpack::dtype_code::Float, 64},   {DType::kF32, nb::dlpack::dtype_code::Float, 32},
    {DType::kBF16, nb::dlpack::dtype_code::Bfloat, 16}, {DType::kF16, nb::dlpack::dtype_code::Float, 16},
    {DType::kBool, nb::dlpack::dtype_code::Bool, 8},    {DType::kU8, nb::dlpack::dtype_code::UInt, 8},
    {DType::kI32, nb::dlpack::dtype_code::Int, 32},     {DType::kI64, nb::dlpack::dtype_code::Int, 64},
};

inline std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype type) {
  for (const DlpackType& row : kDlpackTypes)
    if (type.code == static_cast<std::uint8_t>(row.code) && type.bits == row.bits && type.lanes == 1) return row.dtype;
  return std::nullopt;
}

inline nb::dlpack::dtype dlpack_of(DType dtype) {
  for (const DlpackType& row : kDlpackTypes)
    if (row.dtype == dtype)
      return {static_cast<std::uint8_t>(row.code), static_cast<std::uint8_t>(row.bits), std::uint16_t{1}};
  return {};
}

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_DLPACK_TYPES_H_
