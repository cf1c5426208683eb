// The keys that positions allow a block.
#include "src/ops/attention/tile_terms.h"

#include <algorithm>

namespace qkv {
BlockRanges::BlockRanges(const Positions& positions, const QueryBlock& block, std::int64_t width) {
  const KeyRange first = positions.keys(block.sequence, block.begin);
  const KeyRange last = positions.keys(block.sequence, block.begin + block.count - 1);
  all = common = first;
  if (first.begin == last.begin && first.end == last.end) {  // neither end ever decreases
    std::fill_n(begin, width, first.begin);
    std::fill_n(end, width, first.end);
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    const KeyRange range = positions.keys(block.sequence, block.begin + std::min(i, block.count - 1));
    begin[i] = range.begin;
    end[i] = range.end;
    all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    common = {std::max(common.begin, range.begin), std::min(common.end, range.end)};
  }
}

}  // namespace qkv
