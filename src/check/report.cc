// CheckReport to JSON, field by field.
#include "src/check/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "qkv/version.h"

namespace qkv::check {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json index(const Dims& dims) {
  Json list = Json::array();
  for (int axis = 0; axis < dims.rank(); ++axis) list.push_back(dims[axis]);
  return list;
}

Json tensor(const TensorVerdict& verdict) {
  const Comparison& found = verdict.comparison;
  Json json{{"name", verdict.name},
            {"right", found.passed},
            {"elements", found.count},
            {"wrong", found.failed},
            {"largest_error", number(found.largest_error)}};
  if (found.worst.rank() > 0)
    json["worst"] = {{"index", index(found.worst)},
                     {"got", number(found.got)},
                     {"want", number(found.want)},
                     {"error", number(found.error)},
                     {"bound", number(found.bound)}};
  return json;
}

Json probe(const Evidence& one) {
  Json json{{"problem", format(one.asked.problem)}, {"end", to_string(one.answer.end)}, {"right", !one.failed()}};
  if (!one.answer.message.empty()) json["message"] = one.answer.message;
  json["tensors"] = Json::array();
  for (const TensorVerdict& verdict : one.tensors) json["tensors"].push_back(tensor(verdict));
  return json;
}

Json explanation(const Explanation& found, const std::string& noun) {
  Json names = Json::array();
  for (const NamedMistake& named : found.mistakes) names.push_back(named.name);
  Json json{{"names", names},
            {"sentence", "equals " + noun + " with " + to_sentence(found)},
            {"error", number(found.error)},
            {"of_tolerance", number(found.of_tolerance)},
            {"probes", found.explained},
            {"of", found.failing}};
  if (found.share_left) json["squared_error_left"] = *found.share_left;
  return json;
}

Json explanations(const std::vector<Explanation>& all, const CheckReport& report) {
  const Operation operation =
      report.evidence.empty() ? Operation::kAttention : report.evidence.front().asked.problem.operation;
  Json list = Json::array();
  for (const Explanation& one : all) list.push_back(explanation(one, noun_of(operation)));
  return list;
}

Json policy(const PolicyFound& found) {
  return {{"question", found.question},
          {"answer", found.probes == 0 ? Json() : Json(found.answer)},
          {"ours", found.is_ours},
          {"probes", found.probes},
          {"agreeing", found.agreeing}};
}

Json invariant(const Invariant& one) {
  Json json{{"name", one.name}, {"says", one.words}, {"asked", one.was_asked}};
  if (!one.was_asked) return json;
  json["deviation"] = number(one.deviation);
  json["bound"] = number(one.bound);
  json["holds"] = one.holds();
  return json;
}

Json error(const ErrorShape& shape) {
  return {{"bounds", number(shape.bounds)}, {"correlation", number(shape.correlation)}, {"places", shape.places}};
}

Json matrix(const CutMatrix& cut) {
  Json rows = Json::array();
  for (const std::vector<double>& line : cut.values) {
    Json row = Json::array();
    for (const double value : line) row.push_back(number(value));
    rows.push_back(std::move(row));
  }
  return {{"at", index(cut.at)},
          {"first", {cut.first_row, cut.first_column}},
          {"of", {cut.rows, cut.columns}},
          {"values", rows}};
}

Json matrices(const FailingMatrices& all) {
  Json json{{"problem", format(all.problem)}, {"tensor", all.tensor},   {"worst", index(all.worst)},
            {"bound", number(all.bound)},     {"got", matrix(all.got)}, {"want", matrix(all.want)},
            {"error", matrix(all.error)}};
  if (all.weights) json["weights"] = matrix(*all.weights);
  if (all.weights_got) json["weights_got"] = matrix(*all.weights_got);
  return json;
}

template <class T, class Function>
Json list_of(const std::vector<T>& all, Function one) {
  Json list = Json::array();
  for (const T& entry : all) list.push_back(one(entry));
  return list;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight: return "right";
    case Verdict::kWrong: return "wrong";
    default: return "cannot judge";
  }
}

std::string_view to_string(SubjectEnd end) {
  switch (end) {
    case SubjectEnd::kAnswered: return "answered";
    case SubjectEnd::kRefused: return "refused";
    case SubjectEnd::kCrashed: return "crashed";
    case SubjectEnd::kHung: return "hung";
    case SubjectEnd::kWroteOutside: return "wrote outside";
    case SubjectEnd::kReadOutside: return "read outside";
    default: return "failed";
  }
}

std::string to_json(const CheckReport& report) {
  Json json{{"qkv", QKV_VERSION},
            {"kind", "check"},
            {"verdict", to_string(report.verdict)},
            {"headline", report.headline},
            {"subject", report.subject},
            {"counts",
             {{"answered", report.answered},
              {"unanswered", report.unanswered},
              {"wrong", report.failed},
              {"refused", report.refused}}},
            {"pairs_of_options", report.has_pairs},
            {"mistakes", explanations(report.diagnosis.tied, report)},
            {"partial", explanations(report.diagnosis.partial, report)}};
  if (!report.not_asked.empty()) json["not_asked"] = report.not_asked;
  if (report.diagnosis.told_apart_by) json["told_apart_by"] = format(*report.diagnosis.told_apart_by);
  if (report.error) json["error"] = error(*report.error);
  if (report.leak.found)
    json["leak"] = {{"index", {report.leak.b, report.leak.h, report.leak.i, report.leak.j}},
                    {"weight", number(report.leak.weight)}};
  json["policies"] = list_of(report.policies, policy);
  json["invariants"] = list_of(report.invariants, invariant);
  json["same_bits"] = report.same_bits;
  json["would_pass_too"] = report.powerless;
  if (report.shrunk) json["smallest"] = format(*report.shrunk);
  if (!report.replay.empty()) json["replay"] = report.replay;
  json["matrices"] = list_of(report.matrices, matrices);
  json["probes"] = list_of(report.evidence, probe);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> to_html(std::string_view page, std::string_view document) {
  constexpr std::string_view kPlace = "<script id=\"report\" type=\"application/json\">";
  const std::size_t found = page.find(kPlace);
  if (found == std::string_view::npos) return unsupported("the page of the report has no place for its document");
  const std::size_t place = found + kPlace.size();
  std::string html(page.substr(0, place));
  for (const char c : document) {
    if (c == '<')
      html += "\\u003c";  // in JSON it stands inside texts only
    else
      html += c;
  }
  return html.append(page.substr(place));
}

}  // namespace qkv::check
