// Access to a document.
#include "apps/cli/explain_document.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

std::vector<double> row_of(const Json& list) {
  std::vector<double> row;
  for (const Json& value : list) row.push_back(number_of(value));
  return row;
}

int depth_of(const Json& values) {
  int depth = 0;
  for (const Json* level = &values; level->is_array(); level = &level->front()) {
    ++depth;
    if (level->empty()) break;
  }
  return depth;
}

// The matrix inside nested lists: [B,H,T,D] at one head, [B,T,C] or [B,H,T] at the first batch entry, [R,C], or [N].
std::vector<std::vector<double>> matrix_of(const Json& values, std::int64_t head) {
  const Json* level = &values;
  int depth = depth_of(values);
  if (depth == 4 && !level->empty()) {
    level = &level->front();
    const auto at = static_cast<std::size_t>(head);
    if (level->empty()) return {};
    level = &(*level)[std::min(at, level->size() - 1)];
    depth = 2;
  } else if (depth == 3 && !level->empty()) {
    level = &level->front();
    depth = 2;
  }
  std::vector<std::vector<double>> rows;
  if (depth == 1) rows.push_back(row_of(*level));
  if (depth == 2)
    for (const Json& row : *level) rows.push_back(row_of(row));
  return rows;
}

const Json* entry_called(const Json& list, const char* field, std::string_view name) {
  for (const Json& entry : list)
    if (entry.value(field, "") == name) return &entry;
  return nullptr;
}

}  // namespace

double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "Infinity") return kInfinity;
  if (value == "-Infinity") return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

Result<ExplainDocument> ExplainDocument::parse(const std::string& text, Language language) {
  ExplainDocument document;
  document.json_ = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  document.language_ = language;
  const Json& json = document.json_;
  for (const char* field : {"kind", "dims", "select", "options", "stages", "problem"})
    if (!json.is_object() || !json.contains(field))
      return invalid_argument("this is not a document of explain: it has no \"" + std::string(field) + "\"");
  document.query_names_ = document.names("tokens", document.dim("Tq"));
  document.key_names_ = document.names(json.contains("key_tokens") ? "key_tokens" : "tokens", document.dim("Tk"));
  if (json.contains("value_axes")) document.value_names_ = document.names("value_axes", document.dim("Dv"));
  return document;
}

std::vector<std::string> ExplainDocument::names(const char* field, std::int64_t count) const {
  std::vector<std::string> names;
  if (json_.contains(field))
    for (const Json& name : json_[field][language_ == Language::kPortuguese ? "pt" : "en"])
      names.push_back(printable(name.get<std::string>()));
  if (static_cast<std::int64_t>(names.size()) == count) return names;
  names.clear();
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

std::int64_t ExplainDocument::kv_head_of(std::int64_t head) const {
  const std::int64_t kv_heads = std::max<std::int64_t>(1, dim("Hkv"));
  return head / std::max<std::int64_t>(1, dim("Hq") / kv_heads);
}

const Json* ExplainDocument::stage(std::string_view name) const { return entry_called(json_["stages"], "name", name); }

Matrix ExplainDocument::matrix(std::string_view name, std::int64_t head) const {
  const Json* found = stage(name);
  if (found == nullptr) return {};
  std::string formula = found->value("math", "");
  if (formula.empty()) formula = found->value("formula", "");
  return {found->value("symbol", ""), std::move(formula), matrix_of((*found)["values"], head)};
}

Matrix ExplainDocument::differences(std::string_view gradient, std::int64_t head) const {
  if (!json_.contains("differences") || !json_["differences"].is_array()) return {};
  const Json* found = entry_called(json_["differences"], "stage", gradient);
  return found == nullptr ? Matrix{} : Matrix{"", "", matrix_of((*found)["values"], head)};
}

}  // namespace qkv::cli
