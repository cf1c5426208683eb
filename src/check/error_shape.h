// What an error looks like: how large beside rounding, how it follows what is wanted, and where it gathers.
#ifndef QKV_SRC_CHECK_ERROR_SHAPE_H_
#define QKV_SRC_CHECK_ERROR_SHAPE_H_

#include <string>
#include <vector>

#include "src/check/evidence.h"

namespace qkv::check {

struct ErrorShape {
  // The largest error over its bound (which is twice the plain same-type computation's error and a little): 1 or less
  // passes. Infinite for a NaN or infinity in the wrong place.
  double bounds = 0;
  // Of got and want over all finite elements, after the mean over the rows is taken away from both: near 1 a small
  // slip, near 0 unrelated numbers. NaN where one of them is constant.
  double correlation = 0;
  // Where all that fails lies, an axis a sentence: "head 3 only", "rows from 64 on", "odd rows"; empty: all over.
  std::vector<std::string> places;
};

// Constraint: shapes are equal, which judge_answer() has seen to. Cost: O(elements).
ErrorShape shape_of_error(const TensorVerdict& verdict, const Tensor& got, const Tensor& want);

// A weight that should be 0 and is not.
struct Leak {
  bool found = false;
  std::int64_t b = 0, h = 0, i = 0, j = 0;
  double weight = 0;
  Tensor weights;  // what it gave for them, [B,Hq,Tq,Tk]; absent if it refused
};

// Asks for the weights themselves: with v the identity, o is p. `found` is false if nothing leaks or it was refused.
Result<Leak> first_leak(Subject& subject, const Problem& problem);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_ERROR_SHAPE_H_
