// How far from float64 a result may be. Every tolerance of the project is made here.
#ifndef QKV_SRC_CHECK_BOUNDS_H_
#define QKV_SRC_CHECK_BOUNDS_H_

#include "qkv/attention.h"
#include "qkv/reference.h"
#include "src/check/compare.h"

namespace qkv::check {

// The distance from `magnitude` to the next number of the type, as double. Constraint: dtype is floating.
double ulp(DType dtype, double magnitude);

// 2 × the plain computation's largest error + 4 ulp of max|v|.
Bound forward_bound(DType dtype, double plain_error, double largest_value);

// 3 × the plain computation's largest error + 8 ulp of the largest factor.
Bound gradient_bound(DType dtype, double plain_error, double largest_factor);

// What a forward call must give, and how near.
struct ForwardExpectation {
  reference::AttentionResult want;
  // forward_bound(); f32 with D <= 128, T <= 4096 and ordinary scores is also within 2e-6 (1 + |o|). In f64 the errors
  // are measured against extended precision, and the reference's own is added: two exact f64 computations differ too.
  Bound o;
  // 2 × the error of plain's lse, summed from unrounded weights, + 4 ulp of the largest, in f32 (f64 for f64: as
  // above).
  Bound lse;
};

// Runs the reference and the plain computation. `output` is o's type.
// Errors: as attention_forward. Cost: O(B Hq Tq Tk (D + Dv)) scalar operations, twice.
Result<ForwardExpectation> expect_forward(const AttentionInputs& inputs, const AttentionOptions& options, DType output);

struct ForwardVerdict {
  Comparison o, lse;  // lse passes with count 0 if it was not asked for
  bool passed() const { return o.passed && lse.passed; }
};

// Compares with what was expected. `lse` may be absent. Errors: kShapeMismatch.
Result<ForwardVerdict> judge(const ForwardExpectation& expectation, View<const void> o, View<const void> lse);

// What a backward call must give, and how near: gradient_bound() with the factors of each product. dv has do, dbias the
// gradient of the scores, dq and dk that and scale · k or scale · q, dsinks delta − dlse; each has its largest element,
// and the sums dbias and dsinks the sizes of what they add up.
struct BackwardExpectation {
  reference::AttentionGradients want;
  Bound dq, dk, dv, dbias, dsinks;
};

// Runs the reference and the plain computation. `output` is the type of o. Errors: as attention_backward.
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations, three times.
Result<BackwardExpectation> expect_backward(const AttentionInputs& inputs, View<const void> d_o, View<const void> d_lse,
                                            const AttentionOptions& options, DType output);

struct BackwardVerdict {
  Comparison dq, dk, dv, dbias, dsinks;  // one that was not asked for passes with count 0
  bool passed() const { return dq.passed && dk.passed && dv.passed && dbias.passed && dsinks.passed; }
};

// Compares with what was expected. Errors: kShapeMismatch.
Result<BackwardVerdict> judge(const BackwardExpectation& expectation, const AttentionBackwardOutputs& outputs);

// "o: all 24 right; worst ...", and the same of lse.
std::string to_string(const ForwardVerdict& verdict);
std::string to_string(const BackwardVerdict& verdict);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_BOUNDS_H_
