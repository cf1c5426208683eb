// Scores and weights of one head as a mistaken implementation has them, every pair at once.
#ifndef QKV_SRC_CHECK_VARIANT_HEAD_H_
#define QKV_SRC_CHECK_VARIANT_HEAD_H_

#include <cstdint>
#include <vector>

#include "src/check/mistake_set.h"
#include "src/check/variant_inputs.h"
#include "src/check/variant_mask.h"
#include "src/core/check_attention.h"

namespace qkv::check {

// exp as f32 has it: it ends at about 88 and −103.
double exp_f32(double x);

// What all heads of one computation share. Constraint: what it refers to outlives it.
struct VariantProblem {
  const AttentionShape& shape;
  const AttentionOptions& options;  // after without_what_is_ignored()
  const MistakeSet& mistakes;
  const VariantInputs& inputs;
  const VariantMask& mask;

  // Where row `t` of a head begins in q, and in k or v; mistakes in the choice of head and batch are made here.
  std::int64_t query_at(std::int64_t b, std::int64_t h, std::int64_t t) const;
  std::int64_t kv_row(std::int64_t b, std::int64_t h, std::int64_t t) const;
  double scale(std::int64_t j) const;
};

// One head: matrices [Tq,Tk] and vectors [Tq].
class VariantHead {
 public:
  VariantHead(const VariantProblem& problem, std::int64_t b, std::int64_t h);

  double p(std::int64_t i, std::int64_t j) const { return p_[index(i, j)]; }
  // Whether the pair takes part: a masked one does where a fill value stands for −∞.
  bool sees(std::int64_t i, std::int64_t j) const { return seen_[index(i, j)]; }
  // 1 − tanh² of the softcap; 1 without one.
  double bend(std::int64_t i, std::int64_t j) const { return bend_[index(i, j)]; }
  double score(std::int64_t i, std::int64_t j) const { return s_[index(i, j)]; }
  double lse(std::int64_t i) const { return lse_[static_cast<std::size_t>(i)]; }
  double sink_weight(std::int64_t i) const { return sink_weight_[static_cast<std::size_t>(i)]; }
  bool is_empty(std::int64_t i) const { return empty_[static_cast<std::size_t>(i)]; }

 private:
  std::size_t index(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i * problem_.shape.key_length + j);
  }
  struct Scores {};  // of a head whose weights nobody asks for
  VariantHead(const VariantProblem& problem, std::int64_t b, std::int64_t h, Scores);
  double dot(const double* q, const double* k, std::int64_t width) const;
  double raw(std::int64_t i, std::int64_t j) const;
  void compute_score(std::int64_t i, std::int64_t j);
  void hide(std::int64_t i, std::int64_t j);
  void weigh_row(std::int64_t i);
  void weigh_column(std::int64_t j);
  void weigh_across_heads();
  double row_lse(std::int64_t i, double maximum, double sum) const;
  double unscaled_lse(std::int64_t i) const;

  const VariantProblem& problem_;
  std::int64_t b_, h_;
  std::vector<double> s_, p_, bend_, lse_, sink_weight_;
  std::vector<bool> seen_, empty_;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_HEAD_H_
