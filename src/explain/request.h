// What is asked of explain: inputs, options, and where to look. Described for users in docs/explain.md.
#ifndef QKV_SRC_EXPLAIN_REQUEST_H_
#define QKV_SRC_EXPLAIN_REQUEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/layer.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/explain/json_read.h"
#include "src/explain/numbers.h"
#include "src/explain/options.h"

namespace qkv {

enum class RequestKind : std::uint8_t {
  kAttention,  // q, k, v are given
  kLayer,      // x and weights are given
};

// Names of rows or columns in the two languages of the lesson; alike unless the request tells them apart.
struct Words {
  std::vector<std::string> en, pt;
  bool is_present() const { return !en.empty(); }
};

// One batch entry of a problem. Every tensor has its full rank: q k v [1,H,T,D], x [1,T,C].
struct Request {
  RequestKind kind = RequestKind::kAttention;
  std::string example;  // its name if the request started from one
  Json source;          // whatever the shell says about the origin; returned as it is

  Words tokens, key_tokens, value_axes;
  std::map<std::string, Numbers, std::less<>> tensors;  // q k v; x wq wk wv ...; keep key_mask bias; d_output

  AttentionOptions attention;  // without its views and spans, which point into this struct later
  OptionLists lists;

  std::int64_t query_heads = 1, kv_heads = 0;  // of a layer
  Norm norm = Norm::kLayerNorm;
  double eps = 1e-5;

  bool backward = false;
  double step = 1e-6;         // of the central differences
  std::vector<double> steps;  // more of them, whose errors are compared

  Json row;  // an index, a token, or null
  std::optional<std::int64_t> head;
  std::int64_t batch = 0, batches = 1;  // the entry that is kept, and of how many
  std::vector<std::string> edits;       // "v[river]=0,1"

  const Numbers* find(std::string_view name) const;
};

// Reads a request, the example that it starts from included. Shapes are not yet matched with one another.
// Errors: kInvalidArgument: an unknown or contradictory field, a value of the wrong kind, with its path.
Result<Request> parse_request(const Json& request);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_REQUEST_H_
