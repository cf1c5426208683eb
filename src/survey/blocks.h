// Rows cut into the blocks that a kernel takes at once.
#ifndef QKV_SRC_SURVEY_BLOCKS_H_
#define QKV_SRC_SURVEY_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "src/ops/attention/forward.h"

namespace qkv {

// Calls use(block) for the queries [begin, end) of a head, at most `most` a block and none across two sequences.
template <class Use>
void for_each_block(const Positions& positions, std::int64_t batch, std::int64_t head, std::int64_t begin,
                    std::int64_t end, std::int64_t most, const Use& use) {
  for (std::int64_t query = begin; query < end;) {
    const Sequence sequence = positions.sequence_of(batch, query);
    const std::int64_t count = std::min({most, sequence.query_end - query, end - query});
    use(QueryBlock{batch, head, query, count, sequence});
    query += count;
  }
}

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_BLOCKS_H_
