// From files to rows.
#include "apps/cli/survey_rows.h"

#include <algorithm>
#include <utility>

#include "apps/cli/run_inputs.h"
#include "src/core/did_you_mean.h"
#include "src/core/four_axes.h"
#include "src/core/staged_progress.h"
#include "src/core/status_macros.h"
#include "src/survey/self_check.h"
#include "src/survey/token_places.h"

namespace qkv::cli {
namespace {

// Of plain tensors whose o is there: so many rows are computed again.
constexpr std::int64_t kCheckedRows = 16;

Status not_a_list(const std::string& flag, const std::string& text) {
  return invalid_argument(flag + " '" + text + "' is no list of numbers; for example 0,3-5");
}

// "0,3-5" to 0 3 4 5.
Status read_list(const std::string& flag, const std::string& text, std::vector<std::int64_t>& into) {
  constexpr std::int64_t kMost = 100000;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMost) return not_a_list(flag, text);
    for (std::int64_t number = *first; number <= *last; ++number) into.push_back(number);
    begin = end + 1;
  }
  return {};
}

bool holds(const std::vector<std::int64_t>& list, std::int64_t number) {
  return list.empty() || std::ranges::find(list, number) != list.end();
}

struct Selected {
  const CapturedCall* call;
  std::size_t index;
};

// A row, or one a batch entry where they are told apart.
Status add_rows(Capture& capture, const Selected& selected, BatchEntries batches, const Execution& execution,
                std::vector<SurveyRow>& rows) {
  const CapturedCall& call = *selected.call;
  QKV_ASSIGN_OR_RETURN(const CapturedHead head, capture.head(call, selected.index));
  SurveyInputs inputs{head.inputs.q, head.inputs.k, head.tokens, {}, batches, !call.has_tokens};
  if (call.has_tokens) inputs.query_start = call.query_start;
  QKV_ASSIGN_OR_RETURN(const std::vector<HeadStatistics> found, survey(inputs, head.options, execution));
  std::vector<double> errors;
  if (head.o.is_present()) {
    Execution quiet = execution;
    quiet.progress = {};
    QKV_ASSIGN_OR_RETURN(errors, worst_differences(head.inputs, head.o, call.rows, head.options, quiet));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    SurveyRow row{call.name, call.path, call.layer, call.problem(), found[i], {}, call.allowed};
    row.statistics.head = head.head;
    if (!errors.empty()) row.error = found.size() > 1 ? errors[i] : std::ranges::max(errors);
    rows.push_back(std::move(row));
  }
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? text + ", …" : text;
}

Status nothing_selected(const Capture& capture, const SurveySelection& selection) {
  std::vector<std::string> names, layers;
  std::int64_t most = 0;
  for (const CapturedCall& call : capture.calls()) {
    names.push_back(call.name);
    if (call.layer && std::ranges::find(layers, std::to_string(*call.layer)) == layers.end())
      layers.push_back(std::to_string(*call.layer));
    most = std::max(most, call.query_heads);
  }
  for (const std::string& wanted : selection.calls)
    if (std::ranges::find(names, wanted) == names.end())
      return invalid_argument("--call: there is no call " + quote(wanted) + "; the capture holds " + listed(names) +
                              did_you_mean(wanted, names));
  return invalid_argument("not all that was asked for is there; the capture has the layers " + listed(layers) +
                          " with heads 0 to " + std::to_string(most - 1));
}

// That each layer, head and call that was asked for is there: one that is not is no wish to be passed over.
Status check_selection(const Capture& capture, const SurveySelection& selection) {
  const auto any = [&](auto holds) { return std::ranges::any_of(capture.calls(), holds); };
  for (const std::int64_t layer : selection.layers)
    if (!any([&](const CapturedCall& call) { return call.layer == layer; }))
      return nothing_selected(capture, selection);
  for (const std::int64_t head : selection.heads)
    if (!any([&](const CapturedCall& call) { return std::ranges::find(call.heads, head) != call.heads.end(); }))
      return nothing_selected(capture, selection);
  for (const std::string& name : selection.calls)
    if (!any([&](const CapturedCall& call) { return call.name == name; })) return nothing_selected(capture, selection);
  return {};
}

// Rows [0, length) that lie evenly, both ends among them.
std::vector<std::int64_t> sampled_rows(std::int64_t length) {
  const std::int64_t count = std::min(length, kCheckedRows);
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(count == 1 ? 0 : i * (length - 1) / (count - 1));
  return rows;
}

// The rows of an o that holds all of them.
Result<Tensor> picked_rows(const View<const void>& o, const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  QKV_ASSIGN_OR_RETURN(Tensor out, Tensor::zeros(DType::kF64, {o.shape[0], o.shape[1], count, o.shape[3]}));
  double* to = out.data<double>();
  for (std::int64_t b = 0; b < o.shape[0]; ++b)
    for (std::int64_t h = 0; h < o.shape[1]; ++h)
      for (const std::int64_t row : rows)
        for (std::int64_t c = 0; c < o.shape[3]; ++c)
          *to++ = element_as_double(o, b * o.strides[0] + h * o.strides[1] + row * o.strides[2] + c * o.strides[3]);
  return out;
}

// The largest difference of every head [B,Hq], where the files hold o; else nothing.
Result<std::vector<double>> check_tensors(InputFiles& files, const SurveyOptions& options, const RunCase& run,
                                          const Execution& execution) {
  if (!files.hold("v") || !files.hold(options.o)) return std::vector<double>();
  QKV_ASSIGN_OR_RETURN(const View<const void> stored, files.view("--o", options.o));
  const View<const void> o = with_four_axes(stored, run.layout);
  const Dims expected{run.shape.batch, run.shape.query_heads, run.shape.query_length, run.shape.value_width};
  if (!(o.shape == expected))
    return shape_mismatch("--o: " + options.o + " is " + to_string(o.shape) + ", but o is " + to_string(expected));
  const std::vector<std::int64_t> rows = sampled_rows(run.shape.query_length);
  QKV_ASSIGN_OR_RETURN(const Tensor picked, picked_rows(o, rows));
  return worst_differences(run.inputs, picked.view(), rows, run.options, execution);
}

// A number for each token [B,Tk], the same for the same text; nothing unless there is one token a key.
std::vector<std::int64_t> ids_of(const std::vector<std::string>& tokens, const AttentionShape& shape) {
  if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) != shape.key_length) return {};
  const std::vector<std::int64_t> of_one = numbers_of(tokens);
  std::vector<std::int64_t> ids;
  for (std::int64_t batch = 0; batch < shape.batch; ++batch) ids.insert(ids.end(), of_one.begin(), of_one.end());
  return ids;
}

}  // namespace

Result<SurveySelection> SurveySelection::parse(const SurveyOptions& options) {
  SurveySelection out;
  for (const std::string& text : options.layers) QKV_RETURN_IF_ERROR(read_list("--layer", text, out.layers));
  for (const std::string& text : options.heads) QKV_RETURN_IF_ERROR(read_list("--head", text, out.heads));
  out.calls = options.calls;
  return out;
}

bool SurveySelection::wants_layer(std::optional<std::int64_t> layer) const {
  return layers.empty() || (layer && holds(layers, *layer));
}

bool SurveySelection::wants_head(std::int64_t head) const { return holds(heads, head); }

bool SurveySelection::wants_call(const CapturedCall& call) const {
  return wants_layer(call.layer) && (calls.empty() || std::ranges::find(calls, call.name) != calls.end());
}

Result<Surveyed> survey_capture(Capture& capture, const SurveySelection& selection, BatchEntries batches,
                                const Execution& execution) {
  std::vector<Selected> selected;
  for (const CapturedCall& call : capture.calls()) {
    if (!selection.wants_call(call)) continue;
    for (std::size_t index = 0; index < call.heads.size(); ++index)
      if (selection.wants_head(call.heads[index])) selected.push_back({&call, index});
  }
  QKV_RETURN_IF_ERROR(check_selection(capture, selection));
  if (selected.empty()) return nothing_selected(capture, selection);
  Surveyed out;
  out.model = capture.model();
  StagedProgress stages(execution, static_cast<int>(selected.size()));
  for (const Selected& each : selected)
    QKV_RETURN_IF_ERROR(add_rows(capture, each, batches, stages.next_stage(), out.rows));
  const std::int64_t entries = selected.front().call->batch;
  if (entries > 1 && batches == BatchEntries::kTogether)
    out.remarks.push_back(std::to_string(entries) + " batch entries together; --apart tells them apart");
  if (capture.tokens().empty())
    out.remarks.emplace_back("the capture has no tokens: duplicate and induction are unknown");
  return out;
}

Result<Surveyed> survey_tensors(const SurveyOptions& options, const SurveySelection& selection,
                                const Execution& execution) {
  if (!selection.layers.empty() || !selection.calls.empty())
    return invalid_argument("--layer and --call name calls of a capture; " + options.tensors.files.front() +
                            " is none");
  QKV_ASSIGN_OR_RETURN(InputFiles files, InputFiles::open(options.tensors.files));
  std::vector<NamedUse> used;
  RunOptions tensors = with_named_tensors(files, options.tensors, used);
  const bool has_values = files.hold(tensors.v);
  if (!has_values) tensors.v = tensors.k;  // nobody reads them
  QKV_ASSIGN_OR_RETURN(const RunCase run, make_run_case(files, tensors));
  Surveyed out;
  for (const NamedUse& use : used)
    out.remarks.push_back("uses " + use.name + " of the files, as it is named; without it: " + use.option + " none");
  SurveyInputs inputs{run.inputs.q, run.inputs.k, {}, std::nullopt, BatchEntries::kApart};
  const std::vector<std::int64_t> ids = ids_of(files.strings("tokens"), run.shape);
  if (!ids.empty()) inputs.tokens = View<const std::int64_t>(ids.data(), {run.shape.batch, run.shape.key_length});
  QKV_ASSIGN_OR_RETURN(const std::vector<HeadStatistics> found, survey(inputs, run.options, execution));
  QKV_ASSIGN_OR_RETURN(const std::vector<double> errors, check_tensors(files, options, run, execution));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!selection.wants_head(found[i].head)) continue;
    const std::optional<double> error = errors.empty() ? std::nullopt : std::optional(errors[i]);
    out.rows.push_back({"", "", std::nullopt, format(problem_of(run, tensors)), found[i], error, kTolerance});
  }
  if (out.rows.empty())
    return invalid_argument("no head is selected; the tensors have heads 0 to " +
                            std::to_string(run.shape.query_heads - 1));
  if (ids.empty())
    out.remarks.emplace_back(
        "the files have no list `tokens` with one text a key: duplicate and induction are unknown");
  return out;
}

}  // namespace qkv::cli
