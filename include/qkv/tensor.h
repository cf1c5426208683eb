// Element types, strided views of memory that somebody else owns, and the one tensor that owns its memory.
#ifndef QKV_TENSOR_H_
#define QKV_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "qkv/status.h"

#pragma GCC visibility push(default)
namespace qkv {

inline constexpr int kMaxRank = 4;  // [batch, heads, tokens, width] is the largest thing here

enum class DType : std::uint8_t { kF64, kF32, kBF16, kF16, kBool, kU8, kI32, kI64 };

std::string_view to_string(DType dtype);  // "f64" "f32" "bf16" "f16" "bool" "u8" "i32" "i64"
Result<DType> parse_dtype(std::string_view name);
std::size_t size_of(DType dtype);  // bytes an element
bool is_floating(DType dtype);

// The two 16-bit floats, as bits; arithmetic happens in f32. bf16 is the upper half of an f32, f16 is IEEE binary16.
struct bf16 {
  std::uint16_t bits = 0;
};
struct f16 {
  std::uint16_t bits = 0;
};

// Widening is exact; narrowing rounds to nearest even, overflows to infinity and keeps NaN a (quiet) NaN.
float to_float(bf16 value);
float to_float(f16 value);
bf16 to_bf16(float value);
f16 to_f16(float value);
// Straight from double in one rounding (going through f32 would round twice).
bf16 to_bf16(double value);
f16 to_f16(double value);

template <class T>
constexpr DType dtype_of() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<U, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<U, bf16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<U, f16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<U, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<U, std::uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<U, std::int32_t>)
    return DType::kI32;
  else {
    static_assert(std::is_same_v<U, std::int64_t>, "qkv has no element type for this C++ type");
    return DType::kI64;
  }
}

// Up to four extents or strides (strides count elements, not bytes).
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) {
    for (std::int64_t value : values) push_back(value);
  }
  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  constexpr std::int64_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  // Constraint: at most kMaxRank of them; more are dropped, so readers check the rank of what they read first.
  constexpr void push_back(std::int64_t value) {
    if (rank_ < kMaxRank) values_[static_cast<std::size_t>(rank_++)] = value;
  }
  friend constexpr bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis)
      if (a[axis] != b[axis]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

std::string to_string(const Dims& dims);  // "[2,8,128,64]"
std::int64_t element_count(
    const Dims& dims);  // product; 1 for rank 0; -1 where it does not fit 63 bits or an extent is negative
Dims contiguous_strides(const Dims& shape);  // row-major; shape [2,3,4] has strides [12,4,1]

// Strided memory of a known element type. Copies of a view see the same memory; it owns nothing.
template <class T>
struct View {
  T* data = nullptr;
  Dims shape;
  Dims strides;

  View() = default;
  View(T* pointer, Dims extents) : View(pointer, extents, contiguous_strides(extents)) {}
  View(T* pointer, Dims extents, Dims steps) : data(pointer), shape(extents), strides(steps) {}
  operator View<const T>() const  // NOLINT(google-explicit-constructor): as T* converts to const T*
    requires(!std::is_const_v<T>)
  {
    return {data, shape, strides};
  }

  // Constraint: as many indices as the rank, each inside its extent; not checked.
  template <class... Index>
  T& operator()(Index... index) const {
    std::int64_t offset = 0;
    int axis = 0;
    ((offset += static_cast<std::int64_t>(index) * strides[axis++]), ...);
    return data[offset];
  }
};

// A view whose element type is a run-time value: to View<T> what void* is to T*. A null `data` with rank 0 means
// "absent".
template <class Void>
struct AnyView {
  Void* data = nullptr;
  DType dtype = DType::kF32;
  Dims shape;
  Dims strides;

  AnyView() = default;
  AnyView(Void* pointer, DType type, Dims extents) : AnyView(pointer, type, extents, contiguous_strides(extents)) {}
  AnyView(Void* pointer, DType type, Dims extents, Dims steps)
      : data(pointer), dtype(type), shape(extents), strides(steps) {}
  template <class T>
    requires(!std::is_void_v<T> && std::is_convertible_v<T*, Void*>)
  AnyView(View<T> view)  // NOLINT(google-explicit-constructor)
      : data(view.data), dtype(dtype_of<T>()), shape(view.shape), strides(view.strides) {}
  operator AnyView<const void>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_const_v<Void>)
  {
    return {data, dtype, shape, strides};
  }

  bool is_present() const { return data != nullptr || shape.rank() > 0; }
  // Constraint: T is what dtype says; not checked.
  template <class T>
  auto as() const {
    using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;
    return View<Element>(static_cast<Element*>(data), shape, strides);
  }
};
template <>
struct View<void> : AnyView<void> {
  using AnyView<void>::AnyView;
};
template <>
struct View<const void> : AnyView<const void> {
  using AnyView<const void>::AnyView;
  View() = default;
  View(View<void> view) : AnyView<const void>(view.data, view.dtype, view.shape, view.strides) {}
};

// The same memory with two axes exchanged: [B,T,H,D] read as [B,H,T,D]. Constraint: both axes inside the rank.
template <class T>
View<T> swap_axes(View<T> view, int a, int b) {
  std::swap(view.shape[a], view.shape[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

// Any element as double (bool as 0 or 1). Constraint: `offset` (in elements) lies inside the view's memory.
double element_as_double(View<const void> view, std::int64_t offset);

// Contiguous, 64-byte aligned memory of one element type, zero when made.
class Tensor {
 public:
  Tensor() = default;
  // Errors: kInvalidArgument for a negative extent or a product over 2^63 bytes, kOutOfMemory.
  static Result<Tensor> zeros(DType dtype, Dims shape);

  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  bool is_present() const { return memory_ != nullptr; }
  View<void> view() { return {memory_.get(), dtype_, shape_}; }
  View<const void> view() const { return {memory_.get(), dtype_, shape_}; }
  // Constraint: T is what dtype() says.
  template <class T>
  T* data() {
    return static_cast<T*>(memory_.get());
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  DType dtype_ = DType::kF32;
  Dims shape_;
  std::int64_t size_ = 0;
};

// A contiguous copy in another element type, one rounding an element. Errors: as Tensor::zeros; kShapeMismatch unless
// both are floating.
Result<Tensor> converted(View<const void> view, DType dtype);

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_TENSOR_H_
