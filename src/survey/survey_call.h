// What the parts of a survey hand to each other: the call, the totals of some blocks, the kernel of a target. No SIMD
// here.
#ifndef QKV_SRC_SURVEY_SURVEY_CALL_H_
#define QKV_SRC_SURVEY_SURVEY_CALL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/ops/attention/forward.h"
#include "src/survey/head_totals.h"
#include "src/survey/token_places.h"

namespace qkv {

// What key_mask and key_lengths leave out: padding, which is no token of anybody's.
class Padding {
 public:
  Padding() = default;
  // Constraint: `options` outlives it.
  Padding(const AttentionShape& shape, const AttentionOptions& options, bool has_positions);

  // Whether a query that stands on key `position` is padding; never where positions are not known.
  bool hides(std::int64_t batch, std::int64_t position) const {
    return has_positions_ && 0 <= position && position < keys_ && is_hidden(batch, position);
  }
  std::int64_t first_key(std::int64_t batch) const { return first_keys_[static_cast<std::size_t>(batch)]; }

 private:
  bool is_hidden(std::int64_t batch, std::int64_t key) const;

  const AttentionOptions* options_ = nullptr;
  std::int64_t keys_ = 0;
  bool has_positions_ = false;
  std::vector<std::int64_t> first_keys_;  // [B]
};

// Everything that is the same for all blocks. Checked; read-only.
struct SurveyCall {
  const ForwardCall& forward;               // its v is one column of k, and it has no outputs
  std::optional<std::int64_t> query_start;  // only where the options do not say it
  bool has_positions = false;
  std::vector<TokenPlaces> tokens;  // [B], or none
  Padding padding;

  // The key that query `query` stands on.
  std::int64_t position(const Sequence& sequence, std::int64_t query) const {
    return query_start ? *query_start + query : Positions::position(sequence, query);
  }
};

// The rows of some blocks of one head and batch entry.
struct ChunkTotals {
  HeadTotals rows;
  ColumnTotals columns;
};

struct SurveyKernel {
  std::int64_t queries = 0;  // the most that a block may hold
  std::size_t (*scratch_bytes)(const SurveyCall& call) = nullptr;
  // Adds the rows of a block. `scratch` is 64-byte aligned and belongs to this call alone.
  void (*run)(const SurveyCall& call, const QueryBlock& block, void* scratch, ChunkTotals& totals) = nullptr;
};

// Constraint: `target` is one of available_targets(). `run` is null where the target has no such type.
SurveyKernel survey_kernel(Target target, DType dtype);

// Errors: tokens of another shape or type.
Status check_tokens(const AttentionShape& shape, const View<const void>& tokens);

// Where queries stand: `query_start` unless the options depend on positions themselves.
std::optional<std::int64_t> query_start_of(const SurveyInputs& inputs, const AttentionOptions& options);
// Whether that is known: said by the options or by `query_start`, or plain since there are as many queries as keys.
bool knows_positions(const AttentionShape& shape, const SurveyInputs& inputs, const AttentionOptions& options,
                     const Positions& positions);

// A head and the batch entries [begin, end) that its statistics are of.
struct HeadOfBatches {
  std::int64_t head, begin, end;
};
std::vector<HeadOfBatches> heads_of(const AttentionShape& shape, BatchEntries batches);

// A column of k in the place of values, which nobody reads.
View<const void> narrow_values(const View<const void>& k);

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_SURVEY_CALL_H_
