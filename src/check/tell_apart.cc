// Larger problems of the same kind, one after the other.
#include "src/check/tell_apart.h"

#include <algorithm>
#include <array>
#include <vector>

#include "src/check/match.h"
#include "src/check/shrink.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct Size {
  std::int64_t batch, queries, keys, width, value_width;
};

// Square and not, three batch entries, and what is left over beside tiles of every size up to 128.
constexpr std::array kSizes = std::to_array<Size>({{2, 3, 5, 7, 11},
                                                   {3, 3, 5, 7, 11},
                                                   {2, 5, 5, 6, 6},
                                                   {2, 9, 7, 9, 5},
                                                   {1, 19, 37, 17, 16},
                                                   {1, 37, 19, 40, 40},
                                                   {1, 67, 131, 72, 65}});

std::vector<Problem> versions_of(const Problem& problem) {
  std::vector<Problem> versions;
  for (const Size& size : kSizes)
    for (const Layout layout : {Layout::kBHTD, Layout::kBTHD}) {
      Problem next = problem;
      next.batch = size.batch;
      next.query_length = size.queries;
      next.key_length = size.keys;
      next.width = size.width;
      next.value_width = size.value_width;
      next.layout = layout;
      follow_sizes(problem, next);
      if (!next.key_lengths.empty()) next.key_lengths.assign(next.key_lengths.size(), next.key_length - 1);
      next.cu_seqlens_q = next.cu_seqlens_k = {};
      if (parse_problem(format(next)).is_ok()) versions.push_back(std::move(next));
    }
  return versions;
}

}  // namespace

Result<std::optional<Problem>> told_apart_by(const Problem& problem, std::span<const Mistake> one,
                                             std::span<const Mistake> other) {
  for (Problem& version : versions_of(problem)) {
    QKV_ASSIGN_OR_RETURN(const Case asked, generate(version));
    const auto under = [&](std::span<const Mistake> mistakes) { return compute_variant(asked, mistakes); };
    QKV_ASSIGN_OR_RETURN(const VariantResult a, under(one));
    QKV_ASSIGN_OR_RETURN(const VariantResult b, under(other));
    const auto differ = [&](const Tensor& x, const Tensor& y) {
      double error = 0;
      return x.is_present() && !matches(x, y, match_tolerance(version.dtype, y), error);
    };
    if (differ(a.o, b.o) || (version.lse && differ(a.lse, b.lse)) || differ(a.dq, b.dq) || differ(a.dk, b.dk) ||
        differ(a.dv, b.dv))
      return std::optional<Problem>(std::move(version));
  }
  return std::optional<Problem>();
}

}  // namespace qkv::check
