// The scores of a block of queries, tile by tile, as the forward pass makes them.

#if defined(QKV_SRC_SURVEY_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_SURVEY_SCORES_INL_H_
#undef QKV_SRC_SURVEY_SCORES_INL_H_
#else
#define QKV_SRC_SURVEY_SCORES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/attention/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

// Whether anything but the scale and a mask touches scores.
inline bool has_score_terms(const ForwardCall& call) {
  return call.options.softcap || call.bias.is_present() || !call.options.slopes.empty();
}

// Every tile of a block among the keys `among`, in their order: use(tile) with its scores in scratch.scores.
template <class C, class Use>
HWY_INLINE void for_each_tile_of_scores(const ForwardCall& call, const BlockRun<C>& run, const TaskScratch<C>& scratch,
                                        const KeyRange& among, const Use& use) {
  const bool has_terms = has_score_terms(call);
  const KeyRange all{std::max(run.ranges.all.begin, among.begin), std::min(run.ranges.all.end, among.end)};
  const std::int64_t length = panel_keys(call.shape);
  const ForwardTask task{{*run.block}, 1};
  for (std::int64_t key = all.begin; key < all.end;) {
    const std::int64_t end = std::min(all.end, key / length * length + length);
    const Panel<C> panel = make_panel(call, task, &run, key, end, scratch);
    run_panel(call, has_terms, scratch, panel, run, all.end, [&](const Tile<C>& tile) HWY_ATTR {
      score_tile(call, *run.block, tile, run.post(), has_terms, scratch, run.state);
      use(tile.extent);
    });
    key = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
