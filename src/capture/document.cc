// The JSON of a capture, read field by field: nothing that it says is believed before it was looked at.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/capture/capture.h"
#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/explain/json_read.h"
#include "src/survey/token_places.h"

namespace qkv {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

// An object of the document with its place, for messages: "calls[3]".
struct Fields {
  const Json& json;
  std::string where;

  Status wrong(const std::string& name, const std::string& expected) const {
    const auto found = json.find(name);
    return corrupt_file(where + name + " is " +
                        (found == json.end() ? std::string("missing")
                                             : quote(found->dump(-1, ' ', false, Json::error_handler_t::replace))) +
                        "; expected " + expected);
  }
  const Json* find(const std::string& name) const {  // null if it is missing or null
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
  }

  Status read(const std::string& name, std::string& into) const {
    const Json* value = find(name);
    if (value == nullptr || !value->is_string()) return wrong(name, "text");
    into = value->get<std::string>();
    return {};
  }
  Status read(const std::string& name, bool& into) const {
    const Json* value = find(name);
    if (value == nullptr || !value->is_boolean()) return wrong(name, "true or false");
    into = value->get<bool>();
    return {};
  }
  Status read(const std::string& name, double& into) const {
    const Json* value = find(name);
    if (value == nullptr || !value->is_number()) return wrong(name, "a number");
    into = value->get<double>();
    return std::isfinite(into) ? Status() : wrong(name, "a finite number");
  }
  Status read(const std::string& name, std::int64_t& into, std::int64_t least) const {
    const Json* value = find(name);
    if (value != nullptr && value->is_number_integer()) into = value->get<std::int64_t>();
    if (value == nullptr || !value->is_number_integer() || into < least || into > kLargestExtent)
      return wrong(name, "a whole number from " + std::to_string(least) + " on");
    return {};
  }
  template <class T, class... More>
  Status read_optional(const std::string& name, std::optional<T>& into, More... more) const {
    if (find(name) == nullptr) return {};
    T value{};
    QKV_RETURN_IF_ERROR(read(name, value, more...));
    into = value;
    return {};
  }
  Status read_list(const std::string& name, std::int64_t least, std::vector<std::int64_t>& into) const {
    const Json* value = find(name);
    if (value == nullptr) return {};
    const std::string expected = "a list of whole numbers from " + std::to_string(least) + " on";
    if (!value->is_array()) return wrong(name, expected);
    for (const Json& each : *value) {
      if (!each.is_number_integer() || each.get<std::int64_t>() < least) return wrong(name, expected);
      into.push_back(each.get<std::int64_t>());
    }
    return {};
  }
};

Status read_sizes(const Fields& fields, CapturedCall& call) {
  QKV_RETURN_IF_ERROR(fields.read("B", call.batch, 0));
  QKV_RETURN_IF_ERROR(fields.read("Hq", call.query_heads, 1));
  QKV_RETURN_IF_ERROR(fields.read("Hkv", call.kv_heads, 1));
  QKV_RETURN_IF_ERROR(fields.read("Tq", call.query_length, 0));
  QKV_RETURN_IF_ERROR(fields.read("Tk", call.key_length, 0));
  QKV_RETURN_IF_ERROR(fields.read("D", call.width, 1));
  QKV_RETURN_IF_ERROR(fields.read("Dv", call.value_width, 1));
  if (call.query_heads % call.kv_heads != 0) return fields.wrong("Hkv", "a number that divides Hq");
  std::string dtype;
  QKV_RETURN_IF_ERROR(fields.read("dtype", dtype));
  const Result<DType> parsed = parse_dtype(dtype);
  if (!parsed.is_ok() || !is_floating(*parsed)) return fields.wrong("dtype", "f64, f32, bf16 or f16");
  call.dtype = *parsed;
  return {};
}

// Which heads are there: numbers that rise, none twice; all where nothing is said.
Status read_heads(const Fields& fields, const std::string& name, std::int64_t count, std::vector<std::int64_t>& into) {
  QKV_RETURN_IF_ERROR(fields.read_list(name, 0, into));
  const std::string expected = "rising head numbers below " + std::to_string(count);
  for (std::size_t i = 0; i < into.size(); ++i)
    if (into[i] >= count || (i > 0 && into[i] <= into[i - 1])) return fields.wrong(name, expected);
  if (fields.find(name) != nullptr) return into.empty() ? fields.wrong(name, expected) : Status();
  constexpr std::int64_t kMostHeads = 4096;  // a short text must not ask for much memory
  if (count > kMostHeads) return fields.wrong(name == "heads" ? "Hq" : "Hkv", "at most 4096 heads");
  for (std::int64_t head = 0; head < count; ++head) into.push_back(head);
  return {};
}

Status read_terms(const Fields& fields, CapturedCall& call) {
  QKV_RETURN_IF_ERROR(fields.read("scale", call.scale));
  QKV_RETURN_IF_ERROR(fields.read_optional("softcap", call.softcap));
  if (call.softcap && *call.softcap <= 0) return fields.wrong("softcap", "a number above 0, or null");
  QKV_RETURN_IF_ERROR(fields.read("sinks", call.has_sinks));
  QKV_RETURN_IF_ERROR(fields.read("slopes", call.has_slopes));
  QKV_RETURN_IF_ERROR(fields.read("causal", call.causal));
  QKV_RETURN_IF_ERROR(fields.read_optional("offset", call.offset, -kLargestExtent));
  if (fields.find("corner") != nullptr) QKV_RETURN_IF_ERROR(fields.read("corner", call.corner));
  std::vector<std::int64_t> window;
  QKV_RETURN_IF_ERROR(fields.read_list("window", -1, window));
  if (fields.find("window") != nullptr) {
    if (window.size() != 2) return fields.wrong("window", "[left, right]");
    call.window = Window{window[0], window[1]};
  }
  if ((call.causal || call.window || call.has_slopes) && !call.offset)
    return fields.wrong("offset", "the position of query 0, since the mask depends on it");
  return {};
}

Status read_call(const Fields& fields, CapturedCall& call) {
  QKV_RETURN_IF_ERROR(fields.read("name", call.name));
  QKV_RETURN_IF_ERROR(fields.read("path", call.path));
  QKV_RETURN_IF_ERROR(fields.read("way", call.way));
  QKV_RETURN_IF_ERROR(fields.read("mask", call.mask));
  QKV_RETURN_IF_ERROR(fields.read("order", call.order, 0));
  QKV_RETURN_IF_ERROR(fields.read_optional("layer", call.layer, std::int64_t{0}));
  QKV_RETURN_IF_ERROR(read_sizes(fields, call));
  QKV_RETURN_IF_ERROR(read_heads(fields, "heads", call.query_heads, call.heads));
  QKV_RETURN_IF_ERROR(read_heads(fields, "kv_heads", call.kv_heads, call.stored_kv_heads));
  QKV_RETURN_IF_ERROR(fields.read("values", call.has_values));
  QKV_RETURN_IF_ERROR(read_terms(fields, call));
  QKV_RETURN_IF_ERROR(fields.read("tokens", call.has_tokens));
  QKV_RETURN_IF_ERROR(fields.read("query_start", call.query_start, 0));
  QKV_RETURN_IF_ERROR(fields.read_list("rows", 0, call.rows));
  for (const std::int64_t row : call.rows)
    if (row >= call.query_length) return fields.wrong("rows", "numbers of queries below Tq");
  const Json* error = fields.find("error");
  if (error == nullptr) return {};
  if (!error->is_object()) return fields.wrong("error", "an object with max and allowed");
  const Fields of_error{*error, fields.where + "error."};
  QKV_RETURN_IF_ERROR(of_error.read_optional("max", call.largest_error));
  return of_error.read_optional("allowed", call.allowed);
}

Status read_tokens(const Fields& fields, CapturedTokens& tokens) {
  QKV_RETURN_IF_ERROR(fields.read("text", tokens.text));
  QKV_RETURN_IF_ERROR(fields.read_list("ids", -kLargestExtent, tokens.ids));
  const Json* pieces = fields.find("pieces");
  const bool has_ids = fields.find("ids") != nullptr;
  if (pieces == nullptr || !pieces->is_array() || (has_ids && pieces->size() != tokens.ids.size()))
    return fields.wrong("pieces",
                        has_ids ? "a text for each of the " + std::to_string(tokens.ids.size()) + " ids" : "texts");
  for (const Json& piece : *pieces) {
    if (!piece.is_string()) return fields.wrong("pieces", "texts");
    tokens.pieces.push_back(piece.get<std::string>());
  }
  if (!has_ids) tokens.ids = numbers_of(tokens.pieces);
  return {};
}

// The list `name` of objects, one after the other; null counts as none.
template <class T, class Read>
Status read_objects(const Fields& fields, const std::string& name, const Read& read, std::vector<T>& into) {
  const Json* list = fields.find(name);
  if (list == nullptr) return {};
  if (!list->is_array()) return fields.wrong(name, "a list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string where = name + "[" + std::to_string(i) + "]";
    if (!(*list)[i].is_object())
      return corrupt_file(where + " is " + std::string(kind_of((*list)[i])) + "; expected an object");
    T value;
    QKV_RETURN_IF_ERROR(read(Fields{(*list)[i], where + "."}, value));
    into.push_back(std::move(value));
  }
  return {};
}

}  // namespace

Result<CaptureDocument> parse_capture_document(const std::string& text) {
  const Result<Json> json = read_json(text);
  if (!json.is_ok()) return corrupt_file("the document is no JSON: " + json.status().message());
  if (!json->is_object())
    return corrupt_file("the document is " + std::string(kind_of(*json)) + "; expected an object");
  const Fields fields{*json, ""};
  std::int64_t version = 0;
  QKV_RETURN_IF_ERROR(fields.read("version", version, 1));
  if (version != kVersion)
    return unsupported("the capture has version " + std::to_string(version) + ", and this qkv reads version " +
                       std::to_string(kVersion) + "; a newer qkv may read it");
  CaptureDocument document;
  if (const Json* model = fields.find("model"); model != nullptr && model->is_object()) {
    const Fields of_model{*model, "model."};
    const char* known = of_model.find("name") != nullptr ? "name" : "class";  // a model of one's own has a class only
    QKV_RETURN_IF_ERROR(of_model.read(known, document.model));
  }
  QKV_RETURN_IF_ERROR(read_objects(fields, "calls", read_call, document.calls));
  QKV_RETURN_IF_ERROR(read_objects(fields, "tokens", read_tokens, document.tokens));
  if (document.calls.empty()) return fields.wrong("calls", "at least one call of attention");
  return document;
}

}  // namespace qkv
