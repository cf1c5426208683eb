// From files and numbers to one head.
#include "apps/cli/map_head.h"

#include <algorithm>
#include <utility>

#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/survey/axis_slice.h"

namespace qkv::cli {
namespace {

std::string layers_of(const Capture& capture) {
  std::string text;
  std::int64_t last = -1;
  for (const CapturedCall& call : capture.calls()) {
    if (!call.layer || *call.layer == last) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(*call.layer);
    last = *call.layer;
  }
  return text.empty() ? "none (name a --call)" : text;
}

std::string calls_of(const std::vector<const CapturedCall*>& calls) {
  std::string text;
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(calls.size(), kMost); ++i) text += (i > 0 ? ", " : "") + calls[i]->name;
  return calls.size() > kMost ? text + ", …" : text;
}

// The one call that is meant.
Result<const CapturedCall*> chosen_call(const Capture& capture, const MapHeadOptions& options) {
  std::vector<const CapturedCall*> found, all;
  for (const CapturedCall& call : capture.calls()) {
    all.push_back(&call);
    if ((!options.layer || call.layer == options.layer) && (options.call.empty() || call.name == options.call))
      found.push_back(&call);
  }
  if (found.empty() && !options.call.empty())
    return invalid_argument("--call: there is no such call " + quote(options.call) + "; the capture holds " +
                            calls_of(all));
  if (found.empty())
    return invalid_argument("--layer: there is no layer " + std::to_string(*options.layer) + "; the capture has " +
                            layers_of(capture));
  if (found.size() > 1 && options.layer)
    return invalid_argument("layer " + std::to_string(*options.layer) + " was called " + std::to_string(found.size()) +
                            " times; name one with --call: " + calls_of(found));
  if (found.size() > 1) return invalid_argument("which layer? give --layer; the capture has " + layers_of(capture));
  return found.front();
}

Status check_index(const std::string& flag, std::int64_t index, std::int64_t count) {
  if (0 <= index && index < count) return {};
  return invalid_argument(flag + ": expected 0 to " + std::to_string(count - 1) + ", found " + std::to_string(index));
}

// The rows of a mask or bias that is broadcast from the right to [1,1,Tq,Tk].
View<const void> rows_of(View<const void> view, const Range& rows) {
  const int rank = view.shape.rank();
  return rank >= 2 ? axis_slice(view, rank - 2, rows.begin, rows.end - rows.begin) : view;
}

}  // namespace

Status MapHead::take_capture(TensorFile file, const MapHeadOptions& options, const CLI::App& app) {
  QKV_RETURN_IF_ERROR(refuse_tensor_options(app));
  QKV_ASSIGN_OR_RETURN(Capture capture, Capture::open(std::move(file)));
  capture_ = std::make_unique<Capture>(std::move(capture));
  QKV_ASSIGN_OR_RETURN(const CapturedCall* call, chosen_call(*capture_, options));
  QKV_RETURN_IF_ERROR(check_index("--batch", options.batch, call->batch));
  const auto place = std::ranges::find(call->heads, options.head);
  if (place == call->heads.end()) {
    QKV_RETURN_IF_ERROR(check_index("--head", options.head, call->query_heads));
    return invalid_argument("--head: head " + std::to_string(options.head) + " was not captured");
  }
  QKV_ASSIGN_OR_RETURN(CapturedHead head, capture_->head(*call, static_cast<std::size_t>(place - call->heads.begin())));
  captured_ = std::make_unique<CapturedHead>(std::move(head));
  slice_ = std::make_unique<HeadSlice>(captured_->inputs, captured_->options, options.batch, 0);
  title_ = (call->layer ? "layer " + std::to_string(*call->layer) : "call " + call->name) + ", head " +
           std::to_string(options.head) + (call->batch > 1 ? ", batch entry " + std::to_string(options.batch) : "");
  source_ = capture_->model() + " (" + capture_->path() + ")";
  return {};
}

Status MapHead::take_tensors(const MapHeadOptions& options) {
  if (options.layer || !options.call.empty())
    return invalid_argument("--layer and --call name calls of a capture; " + options.tensors.files.front() +
                            " is none");
  QKV_ASSIGN_OR_RETURN(InputFiles files, InputFiles::open(options.tensors.files));
  files_ = std::make_unique<InputFiles>(std::move(files));
  std::vector<NamedUse> used;
  RunOptions tensors = with_named_tensors(*files_, options.tensors, used);
  tensors.v = tensors.k;  // nobody reads them
  run_ = std::make_unique<RunCase>();
  QKV_ASSIGN_OR_RETURN(*run_, make_run_case(*files_, tensors));
  QKV_RETURN_IF_ERROR(check_index("--batch", options.batch, run_->shape.batch));
  QKV_RETURN_IF_ERROR(check_index("--head", options.head, run_->shape.query_heads));
  slice_ = std::make_unique<HeadSlice>(run_->inputs, run_->options, options.batch, options.head);
  title_ = "head " + std::to_string(options.head) +
           (run_->shape.batch > 1 ? ", batch entry " + std::to_string(options.batch) : "");
  source_ = options.tensors.files.front();
  return {};
}

Result<MapHead> MapHead::open(const MapHeadOptions& options, const CLI::App& app) {
  QKV_ASSIGN_OR_RETURN(TensorFile file, TensorFile::open(options.tensors.files.front()));
  MapHead head;
  if (!Capture::is_in(file)) {
    QKV_RETURN_IF_ERROR(head.take_tensors(options));
    return head;
  }
  if (options.tensors.files.size() > 1)
    return invalid_argument(options.tensors.files.front() + " is a capture, which is drawn by itself");
  QKV_RETURN_IF_ERROR(head.take_capture(std::move(file), options, app));
  return head;
}

Result<Range> parse_range(const std::string& flag, const std::string& text, std::int64_t length) {
  if (text.empty()) return Range{0, length};
  const std::size_t colon = text.find(':');
  const std::string first = text.substr(0, colon), last = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto begin = first.empty() ? std::optional<std::int64_t>(0) : whole_number(first);
  const auto end = last.empty() ? std::optional(length) : whole_number(last);
  if (colon == std::string::npos || !begin || !end)
    return invalid_argument(flag + " '" + text + "' is not A:B; for example 1000:1400");
  if (*begin < 0 || *begin >= *end || *end > length)
    return invalid_argument(flag + " " + text + ": expected 0 <= A < B <= " + std::to_string(length));
  return Range{*begin, *end};
}

Result<std::vector<double>> lse_of_rows(const MapHead& head, const Range& rows, const Execution& execution) {
  MapInputs inputs = head.inputs();
  AttentionOptions options = head.options();
  std::vector<double> lse(static_cast<std::size_t>(head.rows()));
  const bool is_packed = !options.cu_seqlens_q.empty();
  Range computed = rows;
  if (is_packed) {
    computed = {0, head.rows()};
  } else {
    const std::int64_t keys = options.key_lengths.empty() ? head.columns() : options.key_lengths[0];
    const std::int64_t offset = options.corner == Corner::kOffset        ? options.offset
                                : options.corner == Corner::kBottomRight ? keys - head.rows()
                                                                         : 0;
    if (options.causality == Causality::kCausal || options.window != Window{} || !options.slopes.empty()) {
      options.corner = Corner::kOffset;
      options.offset = offset + rows.begin;
    }
    inputs.q = axis_slice(inputs.q, 2, rows.begin, rows.end - rows.begin);
    if (options.keep.is_present()) options.keep = rows_of(options.keep, rows);
    if (options.bias.is_present()) options.bias = rows_of(options.bias, rows);
  }
  QKV_ASSIGN_OR_RETURN(const Overview found, map_overview(inputs, options, {.pixels = 1}, execution));
  std::ranges::copy(found.lse, lse.begin() + computed.begin);
  return lse;
}

}  // namespace qkv::cli
