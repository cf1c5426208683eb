// Writing the document.
#include "src/explain/document.h"

#include <cmath>
#include <utility>

#include "qkv/problem.h"
#include "qkv/version.h"
#include "src/explain/document_text.h"
#include "src/explain/reading.h"
#include "src/explain/symbols.h"

namespace qkv {
namespace {

Json words_of(const Words& words) { return {{"en", words.en}, {"pt", words.pt}}; }

std::int64_t extent(const Trace& trace, std::string_view stage, int axis) {
  const Stage* found = trace.find(stage);
  return found == nullptr || axis >= found->values.shape().rank() ? 0 : found->values.shape()[axis];
}

Problem problem_of(const Explained& all) {
  const Request& request = all.request;
  Problem problem;
  problem.query_heads = extent(all.trace, "q", 1);
  problem.kv_heads = extent(all.trace, "k", 1);
  problem.query_length = extent(all.trace, "q", 2);
  problem.key_length = extent(all.trace, "k", 2);
  problem.width = extent(all.trace, "q", 3);
  problem.value_width = extent(all.trace, "v", 3);
  problem.causality = request.attention.causality;
  problem.corner = request.attention.corner;
  problem.offset = request.attention.offset;
  problem.window = request.attention.window;
  if (const Numbers* keep = request.find("keep")) problem.keep = keep->shape;
  if (const Numbers* bias = request.find("bias")) problem.bias = bias->shape;
  problem.key_mask = request.find("key_mask") != nullptr;
  problem.key_lengths = request.lists.key_lengths;
  problem.cu_seqlens_q = request.lists.cu_seqlens_q;
  problem.cu_seqlens_k = request.lists.cu_seqlens_k;
  problem.slopes = !request.lists.slopes.empty();
  problem.sinks = !request.lists.sinks.empty();
  problem.scale = request.attention.scale;
  problem.softcap = request.attention.softcap;
  problem.dtype = DType::kF64;
  problem.backward = request.backward;
  return problem;
}

Json dims_of(const Explained& all, const Problem& problem) {
  Json dims = {{"B", 1},
               {"Hq", problem.query_heads},
               {"Hkv", problem.kv_heads},
               {"Tq", problem.query_length},
               {"Tk", problem.key_length},
               {"D", problem.width},
               {"Dv", problem.value_width}};
  if (all.request.kind == RequestKind::kLayer) dims["C"] = extent(all.trace, "x", 2);
  return dims;
}

Json options_of(const Explained& all, const Problem& problem) {
  const Request& request = all.request;
  const bool scale_given = request.attention.scale.has_value();
  Json options;
  options["scale"] = scale_given ? *problem.scale : 1.0 / std::sqrt(static_cast<double>(problem.width));
  options["scale_given"] = scale_given;
  if (problem.softcap) options["softcap"] = *problem.softcap;
  options["causal"] = problem.causality == Causality::kCausal;
  options["corner"] = to_string(problem.corner);
  if (problem.corner == Corner::kOffset) options["offset"] = problem.offset;
  options["window"] = {problem.window.left, problem.window.right};
  if (!problem.key_lengths.empty()) options["key_lengths"] = problem.key_lengths;
  if (!problem.cu_seqlens_q.empty()) options["cu_seqlens_q"] = problem.cu_seqlens_q;
  if (!problem.cu_seqlens_k.empty()) options["cu_seqlens_k"] = problem.cu_seqlens_k;
  for (const auto& [name, values] :
       {std::pair("slopes", &request.lists.slopes), std::pair("sinks", &request.lists.sinks)}) {
    if (values->empty()) continue;
    for (double value : *values) options[name].push_back(number_of(value));
  }
  if (request.kind == RequestKind::kLayer) {
    options["norm"] = request.norm == Norm::kNone ? "none" : "layernorm";
    options["eps"] = request.eps;
  }
  return options;
}

Json select_of(const Explained& all) {
  return {{"row", all.look.row},         {"head", all.look.head},      {"head_given", all.request.head.has_value()},
          {"kv_head", all.look.kv_head}, {"batch", all.request.batch}, {"batches", all.request.batches}};
}

Json edit_of(const Edit& edit) {
  Json out = {{"text", edit.text}, {"input", edit.input}, {"row", edit.row}};
  if (edit.column >= 0) out["column"] = edit.column;
  for (double value : edit.before) out["before"].push_back(number_of(value));
  for (double value : edit.after) out["after"].push_back(number_of(value));
  return out;
}

std::string stage_text(const Stage& stage) {
  return with_values({{"name", stage.name},
                      {"symbol", symbol_of(stage.name)},
                      {"formula", stage.formula},
                      {"math", lesson_formula(stage.name, stage.formula)},
                      {"dims", stage.dims},
                      {"shape", shape_of(stage.values.shape())},
                      {"from", stage.from}},
                     stage.values.view());
}

template <class T, class ToText>
std::vector<std::string> texts_of(const std::vector<T>& entries, ToText to_text) {
  std::vector<std::string> texts;
  texts.reserve(entries.size());
  for (const T& entry : entries) texts.push_back(to_text(entry));
  return texts;
}

// Inputs that are no stage: weights, masks, bias.
std::vector<std::string> input_texts(const Explained& all) {
  std::vector<std::string> texts;
  for (const auto& [name, numbers] : all.request.tensors) {
    if (all.trace.find(name) != nullptr || name == "d_output") continue;
    texts.push_back(
        with_values({{"name", name}, {"symbol", symbol_of(name)}, {"shape", shape_of(numbers.shape)}}, numbers.view()));
  }
  return texts;
}

std::vector<std::string> row_sum_texts(const Trace& trace) {
  std::vector<std::string> texts;
  for (const char* name : {"p", "ds"}) {
    const Stage* stage = trace.find(name);
    if (stage == nullptr) continue;
    const Dims& shape = stage->values.shape();
    Numbers sums{row_sums(stage->values), {shape[0], shape[1], shape[2]}};
    sums.values.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
    double largest = 0;
    for (double sum : sums.values)
      if (!(std::abs(sum) <= largest)) largest = std::abs(sum);
    texts.push_back(with_values({{"stage", name}, {"largest", number_of(largest)}}, sums.view()));
  }
  return texts;
}

std::vector<std::string> reading_texts(const Explained& all) {
  std::vector<std::string> texts;
  const Stage* p = all.trace.find("p");
  if (p == nullptr || p->values.size() == 0) return texts;
  for (const RowReading& row : read_head(p->values, all.look.head))
    texts.push_back(text_of({{"keys", row.keys}, {"weights", row.weights}, {"cumulative", row.cumulative}}));
  return texts;
}

// For each step of the request the largest error of each gradient; null if it would have taken too long.
Json sweep_of(const Differences& differences) {
  if (differences.sweep.empty()) return nullptr;
  Json list = Json::array();
  for (const SweepStep& each : differences.sweep) {
    Json errors = Json::object();
    for (const auto& [gradient, error] : each.max_errors) errors[gradient] = number_of(error);
    list.push_back({{"step", each.step}, {"max_errors", errors}});
  }
  return list;
}

void add_gradients(const Explained& all, Lines& lines) {
  if (!all.request.backward) return;
  lines.add("loss", number_of(all.differences.loss));
  lines.add("step", Json(all.request.step));
  if (!all.request.steps.empty()) lines.add("sweep", sweep_of(all.differences));
  if (!all.differences.computed) {
    lines.add("differences", Json(nullptr));
    return;
  }
  std::vector<std::string> texts;
  texts.reserve(all.differences.gradients.size());
  for (const Difference& gradient : all.differences.gradients)
    texts.push_back(with_values(
        {{"stage", gradient.gradient}, {"input", gradient.input}, {"max_error", number_of(gradient.max_error)}},
        gradient.values.view()));
  lines.add_list("differences", texts);
}

}  // namespace

std::string write_document(const Explained& all) {
  const Problem problem = problem_of(all);
  const Request& request = all.request;
  Lines lines;
  lines.add("qkv", Json(QKV_VERSION));
  lines.add("version", Json(kDocumentVersion));
  lines.add("kind", Json(request.kind == RequestKind::kLayer ? "layer" : "attention"));
  if (!request.example.empty()) lines.add("example", Json(request.example));
  if (!request.source.is_null()) lines.add("source", request.source);
  lines.add("problem", Json(format(problem)));
  lines.add("dims", dims_of(all, problem));
  lines.add("options", options_of(all, problem));
  lines.add("select", select_of(all));
  if (request.tokens.is_present()) lines.add("tokens", words_of(request.tokens));
  if (request.key_tokens.is_present()) lines.add("key_tokens", words_of(request.key_tokens));
  if (request.value_axes.is_present()) lines.add("value_axes", words_of(request.value_axes));
  lines.add_list("edits", texts_of(all.edits, [](const Edit& edit) { return text_of(edit_of(edit)); }));
  lines.add_list("inputs", input_texts(all));
  lines.add_list("stages", texts_of(all.trace.stages, stage_text));
  lines.add_list("row_sums", row_sum_texts(all.trace));
  lines.add_list("reading", reading_texts(all));
  add_gradients(all, lines);
  return lines.finish();
}

}  // namespace qkv
