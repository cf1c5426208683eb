// Building the request.
#include "apps/cli/explain_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "apps/cli/run_options.h"
#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/explain/examples.h"
#include "src/explain/json_read.h"
#include "src/explain/numbers.h"
#include "src/io/tensor_file.h"

namespace qkv::cli {
namespace {

constexpr std::uintmax_t kLargestJson = 512U << 20U;  // 4 million numbers an input are far less

// Tensors that explain knows, under the names that files use for them.
constexpr std::string_view kTensors[] = {
    "q",    "k",      "v",     "x",           "gamma",        "beta",         "wq",      "wk",   "wv",
    "bq",   "bk",     "bv",    "wo",          "wqkv",         "bqkv",         "bo",      "keep", "key_mask",
    "bias", "slopes", "sinks", "key_lengths", "cu_seqlens_q", "cu_seqlens_k", "d_output"};
constexpr std::string_view kNumbers[] = {"heads", "kv_heads", "eps", "row"};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kLargestJson)
    return invalid_argument(path + " is larger than any request can be (" + std::to_string(kLargestJson >> 20U) +
                            " MiB)");
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error("cannot read " + path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return io_error("cannot read " + path);
  return text;
}

// A tensor of a file as JSON text, appended to the request's fields.
Status append_tensor(TensorFile& file, const StoredTensor& tensor, std::string_view field, std::string& out) {
  QKV_ASSIGN_OR_RETURN(const View<const void> view, file.view(tensor.name));
  const std::int64_t count = element_count(view.shape);
  if (count > kMostElements)
    return invalid_argument(file_name(file.path()) + ": " + tensor.name + " " + to_string(view.shape) + " has " +
                            std::to_string(count) + " elements; explain shows at most " +
                            std::to_string(kMostElements) + ". Cut it, or compute it with qkv run");
  const StoredTensor* q = file.find("q");
  const bool one_batch = field == "key_mask" && view.shape.rank() == 1 && q != nullptr && q->shape.size() < 4;
  out += ",\"" + std::string(field) + "\":" + (one_batch ? "[" : "");  // [Tk] as [1,Tk], as in `qkv run`
  append_json(out, view);
  out += one_batch ? "]" : "";
  return {};
}

// heads, eps ... : a metadata entry of a safetensors file or an array of one element in an npz.
Status append_number(TensorFile& file, std::string_view name, std::string& out) {
  const auto found = file.metadata().find(std::string(name));
  double value = 0;
  if (found != file.metadata().end() && parse_number(found->second, value)) {
    out += ",\"" + std::string(name) + "\":" + found->second;
    return {};
  }
  if (file.find(name) == nullptr) return {};
  QKV_ASSIGN_OR_RETURN(const View<const void> view, file.view(name));
  if (element_count(view.shape) != 1) return {};
  out += ",\"" + std::string(name) + "\":" + number_to_json(element_as_double(view, 0));
  return {};
}

Status append_words(TensorFile& file, const char* name, std::string& out) {
  const bool stored = file.find(name) != nullptr || file.metadata().contains(name);
  if (!stored) return {};
  QKV_ASSIGN_OR_RETURN(const std::vector<std::string> words, file.strings(name));
  out += std::string(",\"") + name + "\":" + Json(words).dump(-1, ' ', false, Json::error_handler_t::replace);
  return {};
}

// {"source":{...},"q":[...],...} from a safetensors or npz file.
Result<std::string> tensors_as_request(const std::string& path) {
  QKV_ASSIGN_OR_RETURN(TensorFile file, TensorFile::open(path));
  Json source = {{"file", file_name(path)}};
  for (const char* name : {"sentence", "model"})
    if (const auto found = file.metadata().find(name); found != file.metadata().end()) source[name] = found->second;
  std::string out = "{\"source\":" + source.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string_view field = tensor.name == "do" ? "d_output" : std::string_view(tensor.name);
    if (std::find(std::begin(kTensors), std::end(kTensors), field) != std::end(kTensors))
      QKV_RETURN_IF_ERROR(append_tensor(file, tensor, field, out));
  }
  for (const std::string_view name : kNumbers) QKV_RETURN_IF_ERROR(append_number(file, name, out));
  for (const char* name : {"tokens", "key_tokens"}) QKV_RETURN_IF_ERROR(append_words(file, name, out));
  return out + "}";
}

Result<Json> base_request(const std::string& what) {
  if (is_example(what)) return Json{{"example", what}};
  if (!std::filesystem::exists(what)) {
    std::vector<std::string> names;
    for (const Example& example : examples()) names.emplace_back(example.name);
    return invalid_argument(quote(what) + " is neither an example nor a file" + did_you_mean(what, names) +
                            "\nThe examples are bank, running and backward; files end in .json, .npz or .safetensors");
  }
  if (!ends_with(what, ".json")) {
    QKV_ASSIGN_OR_RETURN(const std::string text, tensors_as_request(what));
    return read_json(text);
  }
  QKV_ASSIGN_OR_RETURN(const std::string text, read_text(what));
  Result<Json> json = read_json(text);
  if (!json.is_ok()) return Status(json.code(), file_name(what) + ": " + json.status().message());
  if (!json->is_object())
    return invalid_argument(file_name(what) + " holds " + std::string(kind_of(*json)) +
                            "; expected an object with q, k, v, or x and its weights");
  return json;
}

// JSON has no word for NaN and ∞: they would turn into a null, which takes an option away.
Status check_finite(const ExplainOptions& options) {
  const std::pair<std::string, const std::optional<double>*> numbers[] = {
      {"scale must be finite", &options.scale},
      {"softcap must be positive and finite", &options.softcap},
      {"step must be finite", &options.step}};
  for (const auto& [rule, number] : numbers)
    if (*number && !std::isfinite(**number)) return invalid_argument(rule + ", found " + std::to_string(**number));
  return {};
}

// "3" is short for "offset:3", as in `qkv run`.
std::string corner_text(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? "offset:" + text : text;
}

Status add_positions(const ExplainOptions& options, Json& request) {
  if (options.causal == "true")
    request["causal"] = true;
  else if (!options.causal.empty())
    request["causal"] = corner_text(options.causal);
  if (!options.corner.empty()) request["corner"] = corner_text(options.corner);
  if (options.window.empty()) return {};
  QKV_ASSIGN_OR_RETURN(const Window window, parse_window(options.window));
  request["window"] = {window.left, window.right};
  return {};
}

// An option that would change nothing, as `qkv run` refuses it. What the request's own fields say counts too.
Status check_effect(const ExplainOptions& options, const Json& request) {
  const auto has = [&request](const char* field) {
    const auto found = request.find(field);
    return found != request.end() && !found->is_null() && *found != false;
  };
  if (!options.corner.empty() && !has("causal") && !has("window") && !has("slopes"))
    return invalid_argument("--corner has no effect without --causal, --window or slopes in the file");
  if (options.scale && options.no_scale) return invalid_argument("--scale and --no-scale exclude each other; give one");
  if (options.step && !has("backward")) return invalid_argument("--step has no effect without --backward");
  return {};
}

}  // namespace

bool is_example(const std::string& what) {
  for (const Example& example : examples())
    if (example.name == what) return true;
  return false;
}

Result<std::string> explain_request(const ExplainOptions& options) {
  QKV_RETURN_IF_ERROR(check_finite(options));
  QKV_ASSIGN_OR_RETURN(Json request, base_request(options.what));
  if (const auto op = request.find("op"); !options.json && op != request.end() && *op == "shapes")
    return invalid_argument("this request asks for shapes, which have no page here; use qkv shapes, or --json");
  if (const auto op = request.find("op"); !options.json && op != request.end() && *op == "scores")
    return invalid_argument("this request asks for scores, which have no page here; use --json, or qkv explore");
  if (!options.row.empty()) request["row"] = options.row;
  if (options.head) request["head"] = *options.head;
  if (options.batch) request["batch"] = *options.batch;
  QKV_RETURN_IF_ERROR(add_positions(options, request));
  if (options.no_scale) request["scale"] = 1;
  if (options.scale) request["scale"] = *options.scale;
  if (options.softcap) request["softcap"] = *options.softcap;
  for (const std::string& edit : options.edits) request["set"].push_back(edit);
  if (options.backward) request["backward"] = true;
  if (options.step) request["step"] = *options.step;
  QKV_RETURN_IF_ERROR(check_effect(options, request));
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace qkv::cli
