// From fields to AttentionOptions; what the options mean together is the core's to check.
#include "src/explain/options.h"

#include <optional>

#include "src/core/status_macros.h"

namespace qkv {
namespace {

// "top_left", "bottom_right" or "offset:3", as in a problem's line.
Status read_corner(const std::string& path, const Json& value, AttentionOptions& out) {
  static const std::string kOffset = "offset:";
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text == "top_left") {
    out.corner = Corner::kTopLeft;
  } else if (text == "bottom_right") {
    out.corner = Corner::kBottomRight;
  } else if (text.rfind(kOffset, 0) == 0) {
    const Result<Json> number = read_json(text.substr(kOffset.size()));
    if (!number.is_ok() || !number->is_number_integer())
      return wrong_kind(path, value, "offset:N with a whole number N");
    out.corner = Corner::kOffset;
    out.offset = number->get<std::int64_t>();
  } else {
    return wrong_kind(path, value, "\"top_left\", \"bottom_right\" or \"offset:N\"");
  }
  return {};
}

Status read_positions(const Fields& fields, AttentionOptions& out) {
  const Json& causal = fields["causal"];
  if (causal.is_boolean()) {
    out.causality = causal.get<bool>() ? Causality::kCausal : Causality::kNone;
  } else if (!causal.is_null()) {
    out.causality = Causality::kCausal;
    QKV_RETURN_IF_ERROR(read_corner("causal", causal, out));
  }
  if (fields.has("corner")) {
    if (out.corner != Corner::kUnset)
      return invalid_argument("explain: causal and corner both name a corner; leave one out");
    QKV_RETURN_IF_ERROR(read_corner("corner", fields["corner"], out));
  }
  if (!fields.has("window")) return {};
  std::vector<std::int64_t> window;
  QKV_RETURN_IF_ERROR(fields.read("window", window));
  if (window.size() != 2)
    return invalid_argument("explain: window has " + std::to_string(window.size()) +
                            " numbers; expected [left, right], -1 = open");
  out.window = {window[0], window[1]};
  return {};
}

Status read_optional(const Fields& fields, const char* name, std::optional<double>& value) {
  if (!fields.has(name)) return {};
  double number = 0;
  QKV_RETURN_IF_ERROR(fields.read(name, number));
  value = number;
  return {};
}

}  // namespace

void OptionLists::bind_to(AttentionOptions& options) const {
  options.key_lengths = key_lengths;
  options.cu_seqlens_q = cu_seqlens_q;
  options.cu_seqlens_k = cu_seqlens_k;
  options.slopes = slopes;
  options.sinks = sinks;
}

const std::vector<std::string>& option_names() {
  static const std::vector<std::string> kNames = {"scale",       "softcap", "causal", "corner",       "window",
                                                  "key_lengths", "slopes",  "sinks",  "cu_seqlens_q", "cu_seqlens_k"};
  return kNames;
}

Status read_options(const Fields& fields, AttentionOptions& options, OptionLists& lists) {
  QKV_RETURN_IF_ERROR(read_optional(fields, "scale", options.scale));
  QKV_RETURN_IF_ERROR(read_optional(fields, "softcap", options.softcap));
  QKV_RETURN_IF_ERROR(read_positions(fields, options));
  QKV_RETURN_IF_ERROR(fields.read("key_lengths", lists.key_lengths));
  QKV_RETURN_IF_ERROR(fields.read("cu_seqlens_q", lists.cu_seqlens_q));
  QKV_RETURN_IF_ERROR(fields.read("cu_seqlens_k", lists.cu_seqlens_k));
  QKV_RETURN_IF_ERROR(fields.read("slopes", lists.slopes));
  return fields.read("sinks", lists.sinks);
}

}  // namespace qkv
