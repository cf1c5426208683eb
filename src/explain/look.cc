// Resolving row and head.
#include "src/explain/look.h"

#include <algorithm>
#include <string>

#include "src/core/status_macros.h"
#include "src/explain/row_names.h"

namespace qkv {
namespace {

Status check_words(const Words& words, std::string_view name, std::int64_t count, std::string_view of) {
  const auto found = static_cast<std::int64_t>(words.en.size());
  if (found == 0 || found == count) return {};
  return shape_mismatch("explain: " + std::string(name) + " has " + std::to_string(found) + " entries, but " +
                        std::string(of) + " is " + std::to_string(count));
}

Status too_large(const std::string& what, double count) {
  return unsupported("explain: " + what + " has " + std::to_string(static_cast<std::int64_t>(count)) +
                     " entries, but a document holds at most " + std::to_string(kMostElements) +
                     "; take fewer tokens or heads, or `qkv run`, which keeps none of them");
}

double extent(const Numbers* numbers, int axis) {
  return numbers == nullptr || axis >= numbers->shape.rank() ? 1 : static_cast<double>(numbers->shape[axis]);
}

}  // namespace

Status check_size(const Request& request) {
  constexpr auto kMost = static_cast<double>(kMostElements);
  const bool layer = request.kind == RequestKind::kLayer;
  const Numbers* q = request.find(layer ? "x" : "q");
  const double queries = extent(q, layer ? 1 : 2);
  const double keys = layer ? queries : extent(request.find("k"), 2);
  const double heads = layer ? static_cast<double>(request.query_heads) : extent(q, 1);
  if (heads * queries * keys > kMost) return too_large("the matrix of weights [Hq,Tq,Tk]", heads * queries * keys);
  if (!layer && heads * queries * extent(request.find("v"), 3) > kMost)
    return too_large("the output [Hq,Tq,Dv]", heads * queries * extent(request.find("v"), 3));
  for (const char* name : {"wq", "wk", "wv", "wqkv", "wo"})
    if (const Numbers* weights = request.find(name); weights != nullptr && queries * extent(weights, 1) > kMost)
      return too_large("x times " + std::string(name), queries * extent(weights, 1));
  return {};
}

Result<Look> find_look(const Request& request, const Trace& trace) {
  const Stage* q = trace.find("q");
  const Stage* k = trace.find("k");
  const Stage* v = trace.find("v");
  if (q == nullptr || k == nullptr || v == nullptr) return invalid_argument("explain: the trace has no q, k, v");
  const std::int64_t heads = q->values.shape()[1];
  const std::int64_t kv_heads = std::max<std::int64_t>(1, k->values.shape()[1]);
  const std::int64_t rows = q->values.shape()[2];
  QKV_RETURN_IF_ERROR(check_words(request.tokens, "tokens", rows, "the number of queries"));
  QKV_RETURN_IF_ERROR(check_words(request.key_tokens, "key_tokens", k->values.shape()[2], "the number of keys"));
  QKV_RETURN_IF_ERROR(check_words(request.value_axes, "value_axes", v->values.shape()[3], "the width of v"));
  Look look;
  look.row = std::max<std::int64_t>(0, rows - 1);
  look.head = request.head.value_or(0);
  if (look.head >= std::max<std::int64_t>(1, heads))
    return invalid_argument("explain: head " + std::to_string(look.head) + " is outside 0 … " +
                            std::to_string(heads - 1));
  look.kv_head = look.head / std::max<std::int64_t>(1, heads / kv_heads);
  if (request.row.is_null()) return look;
  const std::string name = request.row.is_string() ? request.row.get<std::string>() : request.row.dump();
  QKV_ASSIGN_OR_RETURN(look.row, find_row(query_words(request), name, rows, "row"));
  return look;
}

}  // namespace qkv
