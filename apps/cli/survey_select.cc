// Columns by name, conditions, order.
#include "apps/cli/survey_select.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

double or_unknown(const std::optional<double>& value) { return value.value_or(HeadStatistics::kUnknown); }

std::vector<SurveyColumn> make_columns() {
  std::vector<SurveyColumn> columns = {
      {"layer", "the layer that called",
       [](const SurveyRow& row) { return row.layer ? static_cast<double>(*row.layer) : HeadStatistics::kUnknown; }},
      {"batch", "the batch entry, of plain tensors",
       [](const SurveyRow& row) {
         return row.statistics.batch < 0 ? HeadStatistics::kUnknown : static_cast<double>(row.statistics.batch);
       }},
      {"head", "the query head", [](const SurveyRow& row) { return static_cast<double>(row.statistics.head); }}};
  for (const StatisticInfo& info : statistics_of_heads())
    columns.push_back({std::string(info.name), std::string(info.meaning),
                       [value = info.value](const SurveyRow& row) { return row.statistics.*value; }});
  columns.push_back({"rows", "rows that see at least two keys: those that the means are taken over",
                     [](const SurveyRow& row) { return static_cast<double>(row.statistics.rows); }});
  columns.push_back({"error", "largest difference between o as it was captured and as it is recomputed",
                     [](const SurveyRow& row) { return or_unknown(row.error); }});
  return columns;
}

std::string names_of_columns() {
  std::string names;
  for (const SurveyColumn& column : survey_columns()) names += (names.empty() ? "" : " ") + column.name;
  return names;
}

using Condition = std::function<bool(const SurveyRow&)>;

Result<Condition> pattern_condition(const std::string& relation, const std::string& word) {
  const std::vector<std::string> words = {"content", "previous", "next", "distance", "mix", "even", "first", "unknown"};
  if (relation != "=" || std::ranges::find(words, word) == words.end())
    return invalid_argument(
        "--where: expected pattern= and one of content previous next distance mix even first unknown; found " +
        quote(relation + word) + did_you_mean(word, words));
  return Condition([word](const SurveyRow& row) { return to_string(pattern_of(row.statistics)) == word; });
}

// "previous>=0.5"
Result<Condition> parse_condition(const std::string& text) {
  const std::size_t begin = text.find_first_of("<>=");
  const std::size_t end = text.find_first_not_of("<>=", begin);
  if (begin == std::string::npos || end == std::string::npos)
    return invalid_argument("--where " + quote(text) + " is no condition; for example 'previous>0.5' or pattern=mix");
  const std::string name = text.substr(0, begin), relation = text.substr(begin, end - begin), word = text.substr(end);
  if (name == "pattern") return pattern_condition(relation, word);
  QKV_ASSIGN_OR_RETURN(const SurveyColumn* column, survey_column("--where", name));
  char* rest = nullptr;
  const double number = std::strtod(word.c_str(), &rest);
  if (*rest != '\0') return invalid_argument("--where: " + quote(word) + " is no number (" + quote(text) + ")");
  const auto compares = [&](auto holds) {
    return Condition([column, number, holds](const SurveyRow& row) { return holds(column->value(row), number); });
  };
  if (relation == ">") return compares(std::greater<>());
  if (relation == ">=") return compares(std::greater_equal<>());
  if (relation == "<") return compares(std::less<>());
  if (relation == "<=") return compares(std::less_equal<>());
  if (relation == "=" || relation == "==") return compares(std::equal_to<>());
  return invalid_argument("--where: " + quote(relation) + " is no relation; expected > >= < <= or =");
}

// Rows with the same number keep their order; those without one come last.
void sort_rows(const SurveyColumn& column, bool ascending, std::vector<SurveyRow>& rows) {
  struct Place {
    double value;
    std::size_t index;
  };
  std::vector<Place> order;
  order.reserve(rows.size());
  for (const SurveyRow& row : rows) order.push_back({column.value(row), order.size()});
  std::ranges::sort(order, [&](const Place& a, const Place& b) {
    if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(b.value);
    if (std::isnan(a.value) || a.value == b.value) return a.index < b.index;
    return ascending ? a.value < b.value : a.value > b.value;
  });
  std::vector<SurveyRow> sorted;
  sorted.reserve(rows.size());
  for (const Place& place : order) sorted.push_back(std::move(rows[place.index]));
  rows = std::move(sorted);
}

}  // namespace

const std::vector<SurveyColumn>& survey_columns() {
  static const std::vector<SurveyColumn> columns = make_columns();
  return columns;
}

Result<const SurveyColumn*> survey_column(const std::string& flag, const std::string& name) {
  std::vector<std::string> names;
  for (const SurveyColumn& column : survey_columns()) {
    if (column.name == name) return &column;
    names.push_back(column.name);
  }
  return invalid_argument(flag + ": there is no column " + quote(name) + did_you_mean(name, names) +
                          "\nThere are: " + names_of_columns());
}

std::vector<std::string> asked_columns(const SurveyOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const bool is_there = name.empty() || name == "pattern" || name == "layer" || name == "batch" || name == "head";
    if (!is_there && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  add(options.sort);
  for (const std::string& text : options.where) add(text.substr(0, text.find_first_of("<>=")));
  return names;
}

Status select_rows(const SurveyOptions& options, std::vector<SurveyRow>& rows) {
  for (const std::string& text : options.where) {
    QKV_ASSIGN_OR_RETURN(const Condition condition, parse_condition(text));
    std::erase_if(rows, [&](const SurveyRow& row) { return !condition(row); });
  }
  if (!options.sort.empty()) {
    QKV_ASSIGN_OR_RETURN(const SurveyColumn* column, survey_column("--sort", options.sort));
    sort_rows(*column, options.ascending, rows);
  }
  if (options.top && static_cast<std::size_t>(*options.top) < rows.size())
    rows.resize(static_cast<std::size_t>(*options.top));
  return {};
}

}  // namespace qkv::cli
