// From JSON to a Request: the example it starts from, its fields, and what contradicts what.
#include "src/explain/request.h"

#include "qkv/problem.h"
#include "src/core/did_you_mean.h"
#include "src/core/four_axes.h"
#include "src/core/status_macros.h"
#include "src/explain/examples.h"
#include "src/explain/fields.h"
#include "src/explain/options.h"

namespace qkv {
namespace {

const std::vector<std::string> kCommonFields = {"op",   "example",  "source",   "tokens", "key_tokens", "value_axes",
                                                "row",  "head",     "batch",    "keep",   "key_mask",   "bias",
                                                "step", "backward", "d_output", "set",    "steps"};
const std::vector<std::string> kAttentionTensors = {"q", "k", "v"};
const std::vector<std::string> kLayerTensors = {"x",  "gamma", "beta", "wq",   "wk", "wv", "bq",
                                                "bk", "bv",    "wqkv", "bqkv", "wo", "bo"};
const std::vector<std::string> kLayerNumbers = {"heads", "kv_heads", "norm", "eps"};
const std::vector<std::string> kSharedTensors = {"keep", "key_mask", "bias", "d_output"};

constexpr std::size_t kMostSteps = 64;  // a curve needs no more

std::vector<std::string> joined(std::initializer_list<const std::vector<std::string>*> lists) {
  std::vector<std::string> all;
  for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
  return all;
}

// The example's fields with the request's laid over them; a null removes a field.
Result<Json> with_example(const Json& request) {
  const Fields fields(request);
  if (!fields.has("example")) return request;
  std::string name;
  QKV_RETURN_IF_ERROR(fields.read("example", name));
  std::vector<std::string> names;
  for (const Example& example : examples()) {
    names.emplace_back(example.name);
    if (example.name != name) continue;
    QKV_ASSIGN_OR_RETURN(Json merged, read_json(example.text));
    for (const auto& [key, value] : request.items()) merged[key] = value;
    return merged;
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  return invalid_argument("explain: there is no example " + quote(name) + did_you_mean(name, names) + " (there are " +
                          list + ")");
}

// The first of `names` that is given, or "".
std::string first_given(const Fields& fields, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (fields.has(name)) return name;
  return "";
}

Status find_kind(const Fields& fields, Request& out) {
  const std::string attention = first_given(fields, kAttentionTensors);
  const std::string layer = first_given(fields, joined({&kLayerTensors, &kLayerNumbers}));
  if (!attention.empty() && !layer.empty())
    return invalid_argument("explain: " + attention + " and " + layer +
                            " contradict each other; give q, k, v or x and its weights, not both");
  out.kind = attention.empty() ? RequestKind::kLayer : RequestKind::kAttention;
  const std::vector<std::string> needed =
      attention.empty() ? std::vector<std::string>{"x"} : std::vector<std::string>{"q", "k", "v"};
  for (const std::string& name : needed)
    if (!fields.has(name))
      return invalid_argument("explain: " + name + " is missing; give q, k, v, or x with wq, wk, wv, or an example");
  if (fields.has("wqkv") && !first_given(fields, {"wq", "wk", "wv", "bq", "bk", "bv"}).empty())
    return invalid_argument("explain: wqkv and " + first_given(fields, {"wq", "wk", "wv", "bq", "bk", "bv"}) +
                            " contradict each other; give the fused matrix or the three");
  if (out.kind == RequestKind::kLayer && !fields.has("wqkv"))
    for (const char* name : {"wq", "wk", "wv"})
      if (!fields.has(name)) return invalid_argument("explain: " + std::string(name) + " is missing beside x");
  return {};
}

Status read_words(const Fields& fields, std::string_view name, Words& out) {
  if (!fields.has(name)) return {};
  const Json& value = fields[name];
  if (value.is_array()) {
    QKV_RETURN_IF_ERROR(fields.read(name, out.en));
    out.pt = out.en;
    return {};
  }
  if (!value.is_object()) return wrong_kind(name, value, "a list of texts, or {\"en\": [...], \"pt\": [...]}");
  const Fields languages(value);
  QKV_RETURN_IF_ERROR(languages.check_known({"en", "pt"}));
  QKV_RETURN_IF_ERROR(languages.read("en", out.en));
  QKV_RETURN_IF_ERROR(languages.read("pt", out.pt));
  if (out.en.empty()) out.en = out.pt;
  if (out.pt.empty()) out.pt = out.en;
  if (out.en.size() == out.pt.size()) return {};
  return invalid_argument("explain: " + std::string(name) + " has " + std::to_string(out.en.size()) + " in en but " +
                          std::to_string(out.pt.size()) + " in pt");
}

Status read_layer(const Fields& fields, Request& out) {
  QKV_RETURN_IF_ERROR(fields.read("heads", out.query_heads, 1));
  QKV_RETURN_IF_ERROR(fields.read("kv_heads", out.kv_heads, 0));
  QKV_RETURN_IF_ERROR(fields.read("eps", out.eps));
  std::string norm = "layernorm";
  QKV_RETURN_IF_ERROR(fields.read("norm", norm));
  if (norm != "layernorm" && norm != "none") return wrong_kind("norm", fields["norm"], "\"layernorm\" or \"none\"");
  out.norm = norm == "none" ? Norm::kNone : Norm::kLayerNorm;
  return {};
}

Status read_steps(const Fields& fields, Request& out) {
  QKV_RETURN_IF_ERROR(fields.read("steps", out.steps));
  if (out.steps.size() > kMostSteps)
    return invalid_argument("explain: steps has " + std::to_string(out.steps.size()) + " entries; expected at most " +
                            std::to_string(kMostSteps));
  for (std::size_t i = 0; i < out.steps.size(); ++i)
    if (!(out.steps[i] > 0) || out.steps[i] > 1)  // NaN too
      return wrong_kind("steps[" + std::to_string(i) + "]", fields["steps"][i], "a number above 0 and up to 1");
  if (!out.steps.empty() && !out.backward)
    return invalid_argument("explain: steps are for the differences beside the gradients; add \"backward\": true");
  return {};
}

Status read_look(const Fields& fields, Request& out) {
  out.row = fields["row"];
  if (!out.row.is_null() && !out.row.is_string() && !out.row.is_number_integer())
    return wrong_kind("row", out.row, "an index from 0 or a token");
  if (fields.has("head")) {
    std::int64_t head = 0;
    QKV_RETURN_IF_ERROR(fields.read("head", head, 0));
    out.head = head;
  }
  QKV_RETURN_IF_ERROR(fields.read("batch", out.batch, 0));
  QKV_RETURN_IF_ERROR(fields.read("backward", out.backward));
  QKV_RETURN_IF_ERROR(fields.read("step", out.step));
  if (out.step <= 0 || out.step > 1) return wrong_kind("step", fields["step"], "a number above 0 and up to 1");
  QKV_RETURN_IF_ERROR(read_steps(fields, out));
  out.source = fields["source"];
  return fields.read("set", out.edits);
}

// [T,D] and [H,T,D] become [1,H,T,D]; [T,C] becomes [1,T,C].
Status add_missing_axes(const std::string& name, std::string_view shapes, int rank, Numbers& numbers) {
  if (numbers.shape.rank() < 2 || numbers.shape.rank() > rank)
    return shape_mismatch("explain: " + name + " is " + to_string(numbers.shape) + "; expected " + std::string(shapes));
  numbers.shape = padded(numbers.view(), rank).shape;
  return {};
}

Status read_tensors(const Fields& fields, Request& out) {
  const bool layer = out.kind == RequestKind::kLayer;
  for (const std::string& name : joined({layer ? &kLayerTensors : &kAttentionTensors, &kSharedTensors})) {
    if (!fields.has(name)) continue;
    QKV_ASSIGN_OR_RETURN(Numbers numbers, read_numbers(fields[name], name));
    const bool per_head = !layer && (name == "q" || name == "k" || name == "v" || name == "d_output");
    if (per_head) QKV_RETURN_IF_ERROR(add_missing_axes(name, "[T,D], [H,T,D] or [B,H,T,D]", 4, numbers));
    if (layer && (name == "x" || name == "d_output"))
      QKV_RETURN_IF_ERROR(add_missing_axes(name, "[T,C] or [B,T,C]", 3, numbers));
    out.tensors[name] = std::move(numbers);
  }
  return {};
}

// Keeps one batch entry of everything that has a batch axis.
Status choose_batch(Request& out) {
  const Numbers& first = out.tensors.at(out.kind == RequestKind::kLayer ? "x" : "q");
  out.batches = first.shape[0];
  if (out.batch >= out.batches)
    return invalid_argument("explain: batch " + std::to_string(out.batch) + " is outside 0 … " +
                            std::to_string(out.batches - 1) + ", the entries that there are");
  if (out.batches == 1) return {};
  for (auto& [name, numbers] : out.tensors) {
    const bool whole =
        name == "q" || name == "k" || name == "v" || name == "x" || name == "d_output" || name == "key_mask";
    const bool mask = (name == "keep" || name == "bias") && numbers.shape.rank() == 4 && numbers.shape[0] > 1;
    if (!whole && !mask) continue;
    if (numbers.shape[0] != out.batches)
      return shape_mismatch("explain: " + name + " is " + to_string(numbers.shape) + ", but B is " +
                            std::to_string(out.batches));
    keep_one(numbers, out.batch);
  }
  if (out.lists.key_lengths.empty()) return {};
  if (static_cast<std::int64_t>(out.lists.key_lengths.size()) != out.batches)
    return shape_mismatch("explain: key_lengths has " + std::to_string(out.lists.key_lengths.size()) +
                          " entries, but B is " + std::to_string(out.batches));
  out.lists.key_lengths = {out.lists.key_lengths[static_cast<std::size_t>(out.batch)]};
  return {};
}

}  // namespace

const Numbers* Request::find(std::string_view name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

Result<Request> parse_request(const Json& request) {
  if (!request.is_object()) return wrong_kind("the request", request, "an object with q, k, v, or an example");
  QKV_ASSIGN_OR_RETURN(const Json merged, with_example(request));
  const Fields fields(merged);
  QKV_RETURN_IF_ERROR(fields.check_known(
      joined({&kAttentionTensors, &kLayerTensors, &kLayerNumbers, &kCommonFields, &option_names()})));
  Request out;
  QKV_RETURN_IF_ERROR(fields.read("example", out.example));
  QKV_RETURN_IF_ERROR(find_kind(fields, out));
  QKV_RETURN_IF_ERROR(read_words(fields, "tokens", out.tokens));
  QKV_RETURN_IF_ERROR(read_words(fields, "key_tokens", out.key_tokens));
  QKV_RETURN_IF_ERROR(read_words(fields, "value_axes", out.value_axes));
  QKV_RETURN_IF_ERROR(read_options(fields, out.attention, out.lists));
  if (out.kind == RequestKind::kLayer) QKV_RETURN_IF_ERROR(read_layer(fields, out));
  QKV_RETURN_IF_ERROR(read_look(fields, out));
  QKV_RETURN_IF_ERROR(read_tensors(fields, out));
  QKV_RETURN_IF_ERROR(choose_batch(out));
  return out;
}

}  // namespace qkv
