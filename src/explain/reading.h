// What the weights of a head say, row by row: which keys a query looks at most.
#ifndef QKV_SRC_EXPLAIN_READING_H_
#define QKV_SRC_EXPLAIN_READING_H_

#include <cstdint>
#include <vector>

#include "qkv/tensor.h"

namespace qkv {

struct RowReading {
  std::vector<std::int64_t> keys;  // by falling weight, equal weights by index; at most kKeysOfAReading
  std::vector<double> weights;     // theirs
  std::vector<double> cumulative;  // weights[0] + … + weights[n]
};

inline constexpr std::size_t kKeysOfAReading = 12;  // more than a reader compares

// Shape: p [1,Hq,Tq,Tk] f64, contiguous. Constraint: head inside it. Keys of weight 0 are left out.
std::vector<RowReading> read_head(const Tensor& p, std::int64_t head);

// Sum of every row of the last axis: [1,H,Tq,Tk] → [1,H,Tq]. Constraint: f64, contiguous, rank 4.
std::vector<double> row_sums(const Tensor& matrix);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_READING_H_
