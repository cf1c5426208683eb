// Whether a gradient is that of the forward pass beside it, whatever that computes: no reference is asked.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/check/invariant_asker.h"
#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// What is moved, its gradient, and by how much.
struct Moved {
  Placed* input;
  const Tensor* gradient;
};

double inner(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += element_as_double(a.view(), i) * element_as_double(b.view(), i);
  return sum;
}

Result<Tensor> wide(const Placed& placed) { return converted(View<const void>(placed.view), DType::kF64); }

class Remainder {
 public:
  Remainder(const Asker& asker, const Problem& problem, const SubjectOutputs& base, double loss)
      : asker_(asker), problem_(problem), base_(base), loss_(loss) {}

  // L(x + h u) − L(x) − h g·u for one direction u, squared; empty if the implementation no longer answers.
  Result<std::optional<double>> squared(std::uint64_t direction, double step) const {
    QKV_ASSIGN_OR_RETURN(Case moved, generate(problem_));
    double first_order = 0;
    const bool is_layer_case = is_layer(problem_);
    const std::vector<Moved> all =
        is_layer_case ? std::vector<Moved>{{&moved.layer.x, &base_.layer.dx}}
                      : std::vector<Moved>{{&moved.q, &base_.dq}, {&moved.k, &base_.dk}, {&moved.v, &base_.dv}};
    for (std::size_t at = 0; at < all.size(); ++at) {
      QKV_ASSIGN_OR_RETURN(const Tensor before, wide(*all[at].input));
      const RandomStream random(direction, at + 1);
      const Values old = values_of(*all[at].input);
      std::uint64_t next = 0;
      QKV_ASSIGN_OR_RETURN(*all[at].input,
                           refilled(*all[at].input, problem_.layout,
                                    [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
                                      return old(a, b, c, d) + step * random.normal(next++);
                                    }));
      QKV_ASSIGN_OR_RETURN(Tensor change, wide(*all[at].input));  // as it was rounded
      for (std::int64_t i = 0; i < change.size(); ++i) change.data<double>()[i] -= before.data<double>()[i];
      first_order += inner(*all[at].gradient, change);
    }
    QKV_ASSIGN_OR_RETURN(const auto answer, asker_.ask(moved));
    if (!answer) return std::optional<double>();
    QKV_ASSIGN_OR_RETURN(const Tensor upstream, wide(is_layer_case ? moved.layer.d_y : moved.d_o));
    const double remainder = inner(upstream, main_output(*answer)) - loss_ - first_order;
    return std::optional(remainder * remainder);
  }

 private:
  const Asker& asker_;
  const Problem& problem_;
  const SubjectOutputs& base_;
  double loss_;
};

bool has_gradients(const SubjectOutputs& given, const Problem& problem) {
  if (is_layer(problem)) return given.layer.dx.is_present();
  return given.dq.is_present() && given.dk.is_present() && given.dv.is_present();
}

}  // namespace

Result<Invariant> taylor_remainder(const Asker& asker) {
  constexpr double kStep = 1.0 / 16;  // far above the rounding of f32, far below where orders mix
  constexpr std::uint64_t kDirections = 4;
  Invariant found{"taylor_remainder",
                  "the gradients are those of its own forward pass: halving a step quarters what is left", false, 0,
                  0.5};
  const Problem problem = asker.problem();
  const bool is_coarse = problem.dtype == DType::kBF16 || problem.dtype == DType::kF16;
  if (!problem.backward || is_coarse) return found;
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto base, asker.ask(plain));
  if (!base || !has_gradients(*base, problem)) return found;
  QKV_ASSIGN_OR_RETURN(const Tensor upstream, wide(is_layer(problem) ? plain.layer.d_y : plain.d_o));
  const Remainder remainder(asker, problem, *base, inner(upstream, main_output(*base)));
  std::array<double, 2> sums{};  // over the directions, so that no single one decides
  for (std::uint64_t direction = 1; direction <= kDirections; ++direction)
    for (std::size_t half = 0; half < sums.size(); ++half) {
      QKV_ASSIGN_OR_RETURN(const auto squared, remainder.squared(direction, half == 0 ? kStep : kStep / 2));
      if (!squared) return found;
      sums[half] += *squared;
    }
  found.was_asked = true;
  const double rate = std::log2(sums[0] / sums[1]) / 2;
  found.deviation = std::isnan(rate) ? rate : std::max(0.0, 2 - rate);
  return found;
}

}  // namespace qkv::check
