// Draws the words of a problem one after the other, each from what the earlier ones leave possible.
#include "src/check/random_problem.h"

#include <algorithm>
#include <utility>

namespace qkv::check {
namespace {

class Choices {
 public:
  explicit Choices(std::span<const std::uint32_t> choices) : choices_(choices) {}

  // A number in [0, count); 0 once the choices are used up.
  std::int64_t below(std::int64_t count) {
    const std::uint32_t choice = next_ < choices_.size() ? choices_[next_++] : 0;
    return static_cast<std::int64_t>(choice) % count;
  }
  // True once in `times`; false for the simplest choice.
  bool one_in(std::int64_t times) { return below(times) == times - 1; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::int64_t>(values.size())));
  }

 private:
  std::span<const std::uint32_t> choices_;
  std::size_t next_ = 0;
};

void draw_sizes(Choices& choices, Problem& problem) {
  problem.batch = choices.pick<std::int64_t>({1, 1, 2, 3, 2, 1, 3, 2, 1, 2, 1, 0});
  problem.kv_heads = choices.pick<std::int64_t>({1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 0});
  problem.query_heads = problem.kv_heads * choices.pick<std::int64_t>({1, 2, 3, 4});
  problem.query_length = choices.pick<std::int64_t>({1, 2, 3, 5, 8, 13, 16, 17, 21, 33, 40, 0});
  problem.key_length = choices.pick<std::int64_t>({1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 40, 0});
  problem.width = choices.pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 24});
  problem.value_width = choices.one_in(2) ? choices.pick<std::int64_t>({1, 2, 3, 4, 7, 11, 16, 17}) : problem.width;
}

// Some of the axes of [B,Hq,Tq,Tk], from the right; an axis that is left out or 1 broadcasts.
Dims draw_broadcast(Choices& choices, const Problem& problem) {
  const Dims full{problem.batch, problem.query_heads, problem.query_length, problem.key_length};
  Dims dims;
  for (auto axis = static_cast<int>(choices.below(kMaxRank)); axis < kMaxRank; ++axis)
    dims.push_back(choices.one_in(3) ? 1 : full[axis]);
  return dims;
}

std::vector<std::int64_t> draw_starts(Choices& choices, std::int64_t sequences, std::int64_t total) {
  std::vector<std::int64_t> starts{0, total};
  for (std::int64_t s = 1; s < sequences; ++s) starts.push_back(choices.below(total + 1));
  std::sort(starts.begin(), starts.end());
  return starts;
}

void draw_sequences(Choices& choices, Problem& problem) {
  if (problem.batch == 1 && choices.one_in(5)) {
    const std::int64_t sequences = 1 + choices.below(4);
    problem.cu_seqlens_q = draw_starts(choices, sequences, problem.query_length);
    problem.cu_seqlens_k = draw_starts(choices, sequences, problem.key_length);
  }
  if (choices.one_in(4))
    for (std::int64_t b = 0; b < problem.batch; ++b)
      problem.key_lengths.push_back(choices.below(problem.key_length + 1));
}

void draw_positions(Choices& choices, Problem& problem) {
  if (choices.one_in(3)) problem.causality = Causality::kCausal;
  if (choices.one_in(4)) problem.window = {choices.below(12) - 1, choices.below(8) - 1};
  problem.slopes = choices.one_in(5);
  const bool placed = problem.causality == Causality::kCausal || problem.window != Window{} || problem.slopes;
  if (!placed) return;
  problem.corner = choices.pick({Corner::kTopLeft, Corner::kBottomRight, Corner::kOffset});
  if (problem.corner == Corner::kOffset) problem.offset = choices.below(13) - 6;
}

void draw_scores(Choices& choices, Problem& problem) {
  if (choices.one_in(4)) problem.keep = draw_broadcast(choices, problem);
  problem.key_mask = choices.one_in(6);
  if (choices.one_in(4)) problem.bias = draw_broadcast(choices, problem);
  problem.sinks = choices.one_in(5);
  if (choices.one_in(4)) problem.scale = choices.pick<double>({1, 0.25, 0, -0.5, 0.1});
  if (choices.one_in(6)) problem.softcap = choices.pick<double>({30, 2, 0.5});
}

void draw_storage(Choices& choices, Problem& problem) {
  problem.dtype = choices.pick({DType::kF32, DType::kF64, DType::kBF16, DType::kF16});
  const bool half = problem.dtype == DType::kBF16 || problem.dtype == DType::kF16;
  if (half && choices.one_in(3)) problem.out_dtype = DType::kF32;
  problem.layout = choices.pick({Layout::kBHTD, Layout::kBTHD});
  problem.lse = choices.one_in(2);
  problem.backward = choices.one_in(3);
  problem.dlse = problem.backward && choices.one_in(3);
  problem.seed = static_cast<std::uint64_t>(choices.below(1 << 16));
}

}  // namespace

Problem problem_from_choices(std::span<const std::uint32_t> row) {
  Choices choices(row);
  Problem problem;
  draw_sizes(choices, problem);
  draw_storage(choices, problem);
  draw_positions(choices, problem);
  draw_scores(choices, problem);
  draw_sequences(choices, problem);
  return problem;
}

}  // namespace qkv::check
