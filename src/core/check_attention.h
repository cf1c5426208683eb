// Checks the tensors and options of attention, once, for the fast path, the reference and every shell. All messages are
// made here.
#ifndef QKV_SRC_CORE_CHECK_ATTENTION_H_
#define QKV_SRC_CORE_CHECK_ATTENTION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/shape_table.h"

namespace qkv {

struct AttentionShape {
  std::int64_t batch = 0;         // B
  std::int64_t query_heads = 0;   // Hq
  std::int64_t kv_heads = 0;      // Hkv
  std::int64_t query_length = 0;  // Tq
  std::int64_t key_length = 0;    // Tk
  std::int64_t width = 0;         // D
  std::int64_t value_width = 0;   // Dv
  std::int64_t group() const { return kv_heads == 0 ? 1 : query_heads / kv_heads; }
};

enum class TypeRule : std::uint8_t {
  kSameType,     // q, k, v of one floating type (the kernels)
  kAnyFloating,  // each its own floating type (the reference)
};

// The shape of q, k, v, and that they, the options and the corner make sense together.
Result<AttentionShape> check_attention(const AttentionInputs& inputs, const AttentionOptions& options, TypeRule rule);

// That masks, bias and numbers of `options` are right for the B, Hq, Tq and Tk that `table` has bound.
Status check_options(ShapeTable& table, const AttentionOptions& options);

struct NamedView {
  const char* name;
  View<const void> view;
};

// That a tensor which is written overlaps neither itself nor another one.
Status check_apart(const ShapeTable& table, const NamedView& written, std::span<const NamedView> others);

// That o [B,Hq,Tq,Dv] and lse [B,Hq,Tq] fit what `table` has bound and the type `in` of q, and overlap neither each
// other nor what is read. `query_length` is the letter of q's tokens.
Status check_results(ShapeTable& table, std::string_view query_length, DType in, const AttentionOutputs& outputs,
                     std::span<const NamedView> read);

// That o and lse have the right shape and type and overlap neither each other nor an input.
Status check_outputs(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                     const AttentionOptions& options);

// That the gradients of o and (if present) of lse have the shapes of o and lse and a floating type.
Status check_output_gradients(const AttentionShape& shape, View<const void> d_o, View<const void> d_lse);

// scale, or 1/sqrt(D) where it is not given.
double resolve_scale(const AttentionShape& shape, const AttentionOptions& options);

// `view` seen as [B,Hq,Tq,Tk]: missing leading axes and axes of extent 1 get stride 0. Constraint: check_attention()
// passed.
View<const void> broadcast_to_scores(const AttentionShape& shape, View<const void> view);

}  // namespace qkv

#endif  // QKV_SRC_CORE_CHECK_ATTENTION_H_
