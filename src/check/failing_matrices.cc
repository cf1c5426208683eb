// Cuts matrices out of tensors, and asks the reference for its weights.
#include "src/check/failing_matrices.h"

#include <algorithm>
#include <utility>

#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// Where the kept entries of an axis begin: `center` is among them.
std::int64_t first_of(std::int64_t center, std::int64_t count) {
  return std::clamp<std::int64_t>(center - kMostRows / 2, 0, std::max<std::int64_t>(0, count - kMostRows));
}

// Which elements of a tensor a matrix holds.
struct Cut {
  CutMatrix matrix;         // without values
  std::int64_t offset = 0;  // of row 0, column 0, in elements

  CutMatrix filled(auto&& value_at) const {
    CutMatrix made = matrix;
    const std::int64_t rows = std::min(made.rows, kMostRows), columns = std::min(made.columns, kMostRows);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> line;
      line.reserve(static_cast<std::size_t>(columns));
      for (std::int64_t column = 0; column < columns; ++column)
        line.push_back(value_at(offset + (made.first_row + row) * made.columns + made.first_column + column));
      made.values.push_back(std::move(line));
    }
    return made;
  }
};

// The matrix that holds element `index` of a contiguous tensor.
Cut cut_around(const Dims& shape, const Dims& index, bool is_statistic) {
  // A statistic has no width: its rows are those of q, and it is one column.
  const int rank = shape.rank();
  const int row_axis = is_statistic ? rank - 1 : rank - 2;
  Cut cut;
  cut.matrix.rows = row_axis < 0 ? 1 : shape[row_axis];
  cut.matrix.columns = is_statistic ? 1 : shape[rank - 1];
  cut.matrix.first_row = first_of(row_axis < 0 ? 0 : index[row_axis], cut.matrix.rows);
  cut.matrix.first_column = first_of(is_statistic ? 0 : index[rank - 1], cut.matrix.columns);
  for (int axis = 0; axis < row_axis; ++axis) {
    cut.matrix.at.push_back(index[axis]);
    cut.offset = cut.offset * shape[axis] + index[axis];
  }
  cut.offset *= cut.matrix.rows * cut.matrix.columns;
  return cut;
}

// The weights of the query head that the worst element belongs to: with columns of the identity for v, o has those
// columns of p.
Result<CutMatrix> weights_behind(const Evidence& one, const std::string& tensor, const Dims& worst,
                                 std::span<const Mistake> accepted) {
  AttentionInputs inputs = one.asked.inputs();
  const std::int64_t heads = inputs.q.shape[1], queries = inputs.q.shape[2], keys = inputs.k.shape[2];
  const bool is_of_keys = tensor == "dk" || tensor == "dv" || tensor.starts_with("cache");
  const bool is_of_heads = worst.rank() == 1;  // dsinks
  const std::int64_t batch = is_of_heads ? 0 : worst[0];
  std::int64_t head = is_of_heads ? worst[0] : worst[1], row = worst.rank() > 2 ? worst[2] : 0;
  if (is_of_keys) head *= heads / inputs.k.shape[1];
  // Keys are counted from the last one, queries too: near the diagonal of a causal mask there is most to see.
  const std::int64_t key = is_of_keys ? row : std::max<std::int64_t>(0, row + keys - queries);
  if (is_of_keys) row = std::clamp<std::int64_t>(key + queries - keys, 0, queries - 1);

  Cut cut;
  cut.matrix = {.at = {batch, head},
                .first_row = first_of(row, queries),
                .first_column = first_of(key, keys),
                .rows = queries,
                .columns = keys,
                .values = {}};
  const std::int64_t shown = std::min(keys, kMostRows);
  QKV_ASSIGN_OR_RETURN(Tensor identity,
                       Tensor::zeros(DType::kF64, {inputs.v.shape[0], inputs.v.shape[1], keys, shown}));
  for (std::int64_t at = 0; at < identity.size(); ++at)
    identity.data<double>()[at] = at / shown % keys == cut.matrix.first_column + at % shown ? 1 : 0;
  inputs.v = identity.view();
  QKV_ASSIGN_OR_RETURN(const VariantResult made, compute_variant(inputs, one.asked.options(), {}, {}, accepted));
  return cut.filled([&](std::int64_t at) {
    const std::int64_t line = (batch * heads + head) * queries + at / keys;
    return made.o.data<double>()[line * shown + at % keys - cut.matrix.first_column];
  });
}

}  // namespace

Result<std::optional<FailingMatrices>> failing_matrices(const Evidence& one, std::span<const Mistake> accepted) {
  const TensorVerdict* failure = one.first_failure();
  if (failure == nullptr) return std::optional<FailingMatrices>();
  const std::vector<GivenTensor> given = given_tensors(one.answer.outputs, one.want);
  const auto found = std::ranges::find(given, failure->name, &GivenTensor::name);
  if (found == given.end()) return std::optional<FailingMatrices>();
  const Dims& worst = failure->comparison.worst;
  const Cut cut = cut_around(found->want->shape(), worst, failure->name == "lse");
  const View<const void> got = found->got->view(), want = found->want->view();
  FailingMatrices made;
  made.problem = one.asked.problem;
  made.tensor = failure->name;
  made.worst = worst;
  made.bound = failure->comparison.bound;
  made.got = cut.filled([&](std::int64_t at) { return element_as_double(got, at); });
  made.want = cut.filled([&](std::int64_t at) { return element_as_double(want, at); });
  made.error = cut.filled([&](std::int64_t at) { return element_as_double(got, at) - element_as_double(want, at); });
  if (one.asked.q.view.is_present()) {
    QKV_ASSIGN_OR_RETURN(made.weights, weights_behind(one, failure->name, worst, accepted));
  }
  return std::optional<FailingMatrices>(std::move(made));
}

void add_weights_got(FailingMatrices& matrices, const Tensor& weights) {
  if (!matrices.weights || !weights.is_present()) return;
  Cut cut;
  cut.matrix = *matrices.weights;
  cut.matrix.values.clear();
  const Dims& at = cut.matrix.at;
  cut.offset = (at[0] * weights.shape()[1] + at[1]) * cut.matrix.rows * cut.matrix.columns;
  matrices.weights_got = cut.filled([&](std::int64_t index) { return element_as_double(weights.view(), index); });
}

}  // namespace qkv::check
