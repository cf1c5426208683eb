// The numbers of a failure, to be looked at: what came, what is wanted, and the weights behind it.
#ifndef QKV_SRC_CHECK_FAILING_MATRICES_H_
#define QKV_SRC_CHECK_FAILING_MATRICES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/check/evidence.h"

namespace qkv::check {

inline constexpr std::int64_t kMostRows = 32;  // of a matrix that is kept, and columns

// The last two axes of a tensor, cut to what a person can look at: around the worst element where it is larger.
struct CutMatrix {
  Dims at;                                       // the axes before: batch entry and head
  std::int64_t first_row = 0, first_column = 0;  // of what is kept
  std::int64_t rows = 0, columns = 0;            // of the whole
  std::vector<std::vector<double>> values;
};

struct FailingMatrices {
  Problem problem;
  std::string tensor;          // the first that fails: "o" "lse" "dq" ...
  Dims worst;                  // the index of its worst element, whose matrix this is
  double bound = 0;            // how far that may be off
  CutMatrix got, want, error;  // error = got − want
  // [Tq,Tk] of the same batch entry and query head: of the reference, and what the subject gives for them if it can be
  // asked. Absent where there are no q and k.
  std::optional<CutMatrix> weights, weights_got;
};

// Of the first tensor of an answer that fails; none where no tensor does (it crashed, or everything is right). Of lse,
// [B,H,T], a row of its T is shown as a column; of dsinks, [H], a row. `accepted` are policies that count as right.
// Errors: as compute_variant. Cost: that of one variant.
Result<std::optional<FailingMatrices>> failing_matrices(const Evidence& one, std::span<const Mistake> accepted);

// The same cut of the weights that a subject gave, [B,Hq,Tq,Tk]; nothing is added if it gave none.
void add_weights_got(FailingMatrices& matrices, const Tensor& weights);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_FAILING_MATRICES_H_
