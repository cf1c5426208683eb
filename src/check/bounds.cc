// Bounds from the plain computation's own error, so that they fit every shape, type and mask.
#include "src/check/bounds.h"

#include <algorithm>
#include <cmath>

#include "src/check/plain.h"
#include "src/core/check_attention.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct Precision {
  int bits;      // of the significand, the hidden one included
  int smallest;  // exponent of the smallest normal number
};

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return {53, -1022};
    case DType::kBF16: return {8, -126};
    case DType::kF16: return {11, -14};
    default: return {24, -126};
  }
}

// Whether scores are no larger than those of N(0,1) inputs under the default scale: the absolute bound in f32 is stated
// for these. A distance penalty makes scores as large as the distance.
bool has_ordinary_scores(const AttentionShape& shape, const AttentionOptions& options) {
  const double scale = std::fabs(resolve_scale(shape, options));
  return scale * std::sqrt(static_cast<double>(shape.width)) <= 1.0000001 && options.slopes.empty();
}

Result<double> largest_error(const Tensor& got, const Tensor& want) {
  QKV_ASSIGN_OR_RETURN(const Comparison comparison, compare(got.view(), want.view(), {}));
  return comparison.largest_error;
}

// The largest errors of the plain computation, and of the reference that results are compared with.
struct Errors {
  double o = 0, lse = 0;
};

Result<Errors> errors_of(const Tensor& o, const Tensor& lse, const Tensor& exact_o, const Tensor& exact_lse) {
  Errors errors;
  QKV_ASSIGN_OR_RETURN(errors.o, largest_error(o, exact_o));
  QKV_ASSIGN_OR_RETURN(errors.lse, largest_error(lse, exact_lse));
  return errors;
}

}  // namespace

double ulp(DType dtype, double magnitude) {
  const Precision precision = precision_of(dtype);
  if (magnitude == 0) return std::ldexp(1.0, precision.smallest - (precision.bits - 1));
  int exponent = 0;  // magnitude = m 2^exponent with m in [1/2, 1)
  std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, precision.smallest) - (precision.bits - 1));
}

Bound forward_bound(DType dtype, double plain_error, double largest_value) {
  Bound bound;
  bound.absolute = 2 * plain_error + 4 * ulp(dtype, largest_value);
  return bound;
}

Bound gradient_bound(DType dtype, double plain_error, double largest_factor) {
  Bound bound;
  bound.absolute = 3 * plain_error + 8 * ulp(dtype, largest_factor);
  return bound;
}

Result<ForwardExpectation> expect_forward(const AttentionInputs& inputs, const AttentionOptions& options,
                                          DType output) {
  constexpr std::int64_t kWidest = 128;  // the limits up to which the f32 bound is promised
  constexpr std::int64_t kLongest = 4096;
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  ForwardExpectation expectation;
  QKV_ASSIGN_OR_RETURN(const Tensor q, converted(inputs.q, DType::kF64));  // the reference is fastest on plain doubles
  QKV_ASSIGN_OR_RETURN(const Tensor k, converted(inputs.k, DType::kF64));
  QKV_ASSIGN_OR_RETURN(const Tensor v, converted(inputs.v, DType::kF64));
  QKV_ASSIGN_OR_RETURN(expectation.want, reference::attention_forward({q.view(), k.view(), v.view()}, options));
  QKV_ASSIGN_OR_RETURN(const PlainResult plain, plain_attention_forward(inputs, options, output));
  const reference::AttentionResult& want = expectation.want;
  Errors of_plain, of_want;  // float64 stands for the exact result of every other type
  if (inputs.q.dtype == DType::kF64) {
    QKV_ASSIGN_OR_RETURN(const PlainResult exact, extended_attention_forward(inputs, options));
    QKV_ASSIGN_OR_RETURN(of_plain, errors_of(plain.o, plain.lse, exact.o, exact.lse));
    QKV_ASSIGN_OR_RETURN(of_want, errors_of(want.o, want.lse, exact.o, exact.lse));
  } else {
    QKV_ASSIGN_OR_RETURN(of_plain, errors_of(plain.o, plain.lse, want.o, want.lse));
  }
  expectation.o = forward_bound(inputs.q.dtype, of_plain.o, plain.largest_value);
  expectation.o.absolute += of_want.o;
  if (inputs.q.dtype == DType::kF32 && shape.width <= kWidest && shape.key_length <= kLongest &&
      has_ordinary_scores(shape, options))
    expectation.o.relative = 2e-6;
  // Near 0 an lse is the small difference of numbers near 1, hence the 1.
  expectation.lse = forward_bound(plain.lse.dtype(), of_plain.lse, std::max(1.0, largest_finite(want.lse)));
  expectation.lse.absolute += of_want.lse;
  return expectation;
}

Result<ForwardVerdict> judge(const ForwardExpectation& expectation, View<const void> o, View<const void> lse) {
  ForwardVerdict verdict;
  QKV_ASSIGN_OR_RETURN(verdict.o, compare(o, expectation.want.o.view(), expectation.o));
  if (lse.is_present()) {
    QKV_ASSIGN_OR_RETURN(verdict.lse, compare(lse, expectation.want.lse.view(), expectation.lse));
  }
  return verdict;
}

std::string to_string(const ForwardVerdict& verdict) {
  return "o: " + to_string(verdict.o) + "; lse: " + to_string(verdict.lse);
}

}  // namespace qkv::check
