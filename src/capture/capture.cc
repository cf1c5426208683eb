// Calls and tensors brought together, a head at a time.
#include "src/capture/capture.h"

#include <algorithm>
#include <utility>

#include "src/core/four_axes.h"
#include "src/core/status_macros.h"
#include "src/survey/axis_slice.h"

namespace qkv {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& list) { return static_cast<std::int64_t>(list.size()); }

Status wrong_tensor(const std::string& name, const std::string& found, const std::string& expected) {
  return corrupt_file(name + " is " + found + "; expected " + expected);
}

// What must be there, in which shape.
struct Expected {
  std::string letter;
  bool is_needed;
  bool is_typed;  // of the call's own type
  std::vector<std::int64_t> shape;
};

std::vector<Expected> expected_tensors(const CapturedCall& call) {
  const std::int64_t heads = count_of(call.heads), kv_heads = count_of(call.stored_kv_heads);
  return {
      {"q", true, true, {call.batch, heads, call.query_length, call.width}},
      {"k", true, true, {call.batch, kv_heads, call.key_length, call.width}},
      {"v", call.has_values, true, {call.batch, kv_heads, call.key_length, call.value_width}},
      {"o", call.has_values && !call.rows.empty(), false, {call.batch, heads, count_of(call.rows), call.value_width}},
      {"key_mask", false, false, {call.batch, call.key_length}},
      {"sinks", call.has_sinks, false, {heads}},
      {"slopes", call.has_slopes, false, {heads}}};
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

std::string CapturedCall::problem() const {
  std::string text = "B" + std::to_string(batch) + " H" + std::to_string(query_heads);
  if (kv_heads != query_heads) text += "/" + std::to_string(kv_heads);
  text += " T" + std::to_string(query_length);
  if (query_length != key_length) text += "x" + std::to_string(key_length);
  text += " D" + std::to_string(width);
  if (value_width != width) text += "/" + std::to_string(value_width);
  text += " " + std::string(to_string(dtype));
  if (mask != "none") text += " " + mask;
  return text;
}

Status Capture::check_tensors(const CapturedCall& call) const {
  for (const Expected& each : expected_tensors(call)) {
    const std::string name = call.name + "." + each.letter;
    const StoredTensor* found = file_.find(name);
    if (found == nullptr) {
      if (each.is_needed) return corrupt_file("there is no tensor " + name);
      continue;
    }
    if (found->shape != each.shape) return wrong_tensor(name, text_of(found->shape), text_of(each.shape));
    if (each.is_typed && found->element != call.dtype)
      return wrong_tensor(name, found->dtype, std::string(to_string(call.dtype)));
  }
  for (const char* letter : {"keep", "bias"}) {
    const std::string name = call.name + "." + letter;
    const StoredTensor* found = file_.find(name);
    if (found == nullptr) continue;
    const std::vector<std::int64_t>& shape = found->shape;
    if (shape.size() > kMaxRank ||
        (shape.size() >= 3 && shape[shape.size() - 3] != 1 && shape[shape.size() - 3] != count_of(call.heads)))
      return wrong_tensor(name, text_of(shape),
                          "up to four axes, with 1 or " + std::to_string(call.heads.size()) + " heads");
  }
  const std::int64_t group = call.query_heads / call.kv_heads;
  for (const std::int64_t head : call.heads)
    if (!std::ranges::binary_search(call.stored_kv_heads, head / group))
      return corrupt_file(call.name + " holds query head " + std::to_string(head) + " without its KV head " +
                          std::to_string(head / group));
  if (call.has_tokens && count_of(ids_) > 0 &&
      (call.query_start > call.key_length || call.query_length > call.key_length - call.query_start))
    return corrupt_file(call.name + ": queries " + std::to_string(call.query_start) + " to " +
                        std::to_string(call.query_start + call.query_length) + " are no tokens of " +
                        std::to_string(call.key_length));
  return {};
}

Result<Capture> Capture::open(TensorFile file) {
  Capture capture(std::move(file));
  const auto refuse = [&](const Status& status) {
    return Status(status.code(), "cannot read the capture " + capture.path() + ": " + status.message());
  };
  const auto text = capture.file_.metadata().find(kCaptureKey);
  if (text == capture.file_.metadata().end())
    return refuse(corrupt_file(std::string("its metadata has no ") + kCaptureKey + "; was it made by qkv.capture?"));
  Result<CaptureDocument> document = parse_capture_document(text->second);
  if (!document.is_ok()) return refuse(document.status());
  capture.model_ = std::move(document->model);
  capture.calls_ = std::move(document->calls);
  capture.tokens_ = std::move(document->tokens);
  const auto length = capture.tokens_.empty() ? 0 : capture.tokens_.front().ids.size();
  for (const CapturedTokens& each : capture.tokens_) {
    if (each.ids.size() != length)
      return refuse(corrupt_file("tokens differ in length from one batch row to the next"));
    capture.ids_.insert(capture.ids_.end(), each.ids.begin(), each.ids.end());
  }
  for (const CapturedCall& call : capture.calls_)
    if (const Status status = capture.check_tensors(call); !status.is_ok()) return refuse(status);
  return capture;
}

Result<CapturedHead> Capture::head(const CapturedCall& call, std::size_t index) {
  CapturedHead out;
  out.head = call.heads[index];
  const auto at = static_cast<std::int64_t>(index);
  const std::int64_t kv = out.head / (call.query_heads / call.kv_heads);
  const std::int64_t kv_at = std::ranges::lower_bound(call.stored_kv_heads, kv) - call.stored_kv_heads.begin();
  const auto view = [&](const char* letter) { return file_.view(call.name + "." + letter); };
  const auto has = [&](const char* letter) { return file_.find(call.name + "." + letter) != nullptr; };
  QKV_ASSIGN_OR_RETURN(const View<const void> q, view("q"));
  QKV_ASSIGN_OR_RETURN(const View<const void> k, view("k"));
  out.inputs = {axis_slice(q, 1, at, 1), axis_slice(k, 1, kv_at, 1), {}};
  if (call.has_values) {
    QKV_ASSIGN_OR_RETURN(const View<const void> v, view("v"));
    out.inputs.v = axis_slice(v, 1, kv_at, 1);
    if (!call.rows.empty()) {
      QKV_ASSIGN_OR_RETURN(const View<const void> o, view("o"));
      out.o = axis_slice(o, 1, at, 1);
    }
  }
  AttentionOptions& options = out.options;
  options.scale = call.scale;
  options.softcap = call.softcap;
  if (call.causal) options.causality = Causality::kCausal;
  if (call.window) options.window = *call.window;
  if (call.causal || call.window || call.has_slopes) {
    options.corner = Corner::kOffset;
    options.offset = *call.offset;
  }
  if (has("keep")) {
    QKV_ASSIGN_OR_RETURN(const View<const void> keep, view("keep"));
    options.keep = axis_slice(padded(keep, kMaxRank), 1, at, 1);
  }
  if (has("bias")) {
    QKV_ASSIGN_OR_RETURN(const View<const void> bias, view("bias"));
    options.bias = axis_slice(padded(bias, kMaxRank), 1, at, 1);
  }
  if (has("key_mask")) {
    QKV_ASSIGN_OR_RETURN(options.key_mask, view("key_mask"));
  }
  if (call.has_sinks) {
    QKV_ASSIGN_OR_RETURN(const View<const void> sinks, view("sinks"));
    out.sinks = {element_as_double(sinks, at * sinks.strides[0])};
    options.sinks = out.sinks;
  }
  if (call.has_slopes) {
    QKV_ASSIGN_OR_RETURN(const View<const void> slopes, view("slopes"));
    out.slopes = {element_as_double(slopes, at * slopes.strides[0])};
    options.slopes = out.slopes;
  }
  // Tokens may go on behind the keys of a call: those of later steps.
  const auto tokens = static_cast<std::int64_t>(tokens_.empty() ? 0 : tokens_.front().ids.size());
  if (call.has_tokens && count_of(ids_) > 0 && tokens >= call.key_length &&
      static_cast<std::int64_t>(tokens_.size()) == call.batch)
    out.tokens = View<const void>(View<const std::int64_t>(ids_.data(), {call.batch, call.key_length}, {tokens, 1}));
  return out;
}

}  // namespace qkv
