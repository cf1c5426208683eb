// Weights in words.
#include "apps/cli/explain_reading.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

enum class Sight : std::uint8_t {
  kSome,     // some weights are numbers above 0
  kHidden,   // every key is hidden
  kBroken,   // the scores hold NaN or ∞, and so do the weights
  kNothing,  // keys are there to be seen, but a sink has it all
};

std::vector<double> row_of(const ExplainDocument& document, const char* stage, std::int64_t head, std::size_t row) {
  Matrix matrix = document.matrix(stage, head);
  return row < matrix.rows() ? std::move(matrix.values[row]) : std::vector<double>();
}

bool is_hidden(double score) { return std::isinf(score) && score < 0; }

Sight sight_of(const ExplainDocument& document, std::int64_t head, std::size_t row) {
  const std::vector<double> scores = row_of(document, "masked", head, row), p = row_of(document, "p", head, row);
  if (std::all_of(scores.begin(), scores.end(), is_hidden)) return Sight::kHidden;
  if (std::any_of(p.begin(), p.end(), [](double weight) { return std::isnan(weight); })) return Sight::kBroken;
  const bool some = std::any_of(p.begin(), p.end(), [](double weight) { return weight > 0; });
  return some ? Sight::kSome : Sight::kNothing;
}

// For every query the `shown` keys with the largest weights.
Block reading_table(const PageWriter& page, std::size_t shown) {
  const ExplainDocument& document = page.document;
  const Json& readings = document.json()["reading"];
  const std::vector<std::string> queries = numbered(document.query_names());
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const bool picked = static_cast<std::int64_t>(i) == document.row();
    std::vector<std::string> cells{(picked ? "▸ " : "  ") + cut(queries[i], kWidestName), "→"};
    const Json& keys = readings[i]["keys"];
    for (std::size_t n = 0; n < keys.size() && n < shown; ++n)
      cells.push_back(cut(page.key_name(keys[n]), kWidestName) + " " +
                      number_text(number_of(readings[i]["weights"][n]), page.style.digits));
    if (keys.empty())
      cells.emplace_back(sight_of(document, document.head(), i) == Sight::kBroken ? "NaN" : page.words.nobody);
    rows.push_back(cells);
  }
  return table(rows, std::vector<bool>(shown + 2, false));
}

// How many keys have the largest weight, to the last bit; `all` tells whether every visible key has it.
std::size_t ties(const ExplainDocument& document, std::size_t row, bool& all) {
  const std::vector<double> scores = row_of(document, "masked", document.head(), row);
  const std::vector<double> p = row_of(document, "p", document.head(), row);
  const double largest = *std::max_element(p.begin(), p.end());
  const auto count = static_cast<std::size_t>(std::count(p.begin(), p.end(), largest));
  const auto hidden = static_cast<std::size_t>(std::count_if(scores.begin(), scores.end(), is_hidden));
  all = count + hidden == p.size();
  return count;
}

// "itself", "bank" ...: the n-th key of the row's reading.
std::string looked_at(const PageWriter& page, std::size_t row, std::size_t n) {
  const std::size_t key = page.document.json()["reading"][row]["keys"][n];
  const bool same = key == row && page.document.dim("Tq") == page.document.dim("Tk");
  return same ? std::string(page.words.itself) : page.key_name(key);
}

// "itself, bank and river"; "9 keys" where they are many.
std::string tied_names(const PageWriter& page, std::size_t row, std::size_t count) {
  constexpr std::size_t kMostNames = 4;
  if (count > kMostNames) return filled(page.words.keys, {std::to_string(count)});
  std::string text = looked_at(page, row, 0);
  for (std::size_t n = 1; n < count; ++n)
    text += (n + 1 < count ? ", " : " " + std::string(page.words.and_word) + " ") + looked_at(page, row, n);
  return text;
}

}  // namespace

void write_reading(PageWriter& page) {
  const ExplainDocument& document = page.document;
  const Json& readings = document.json()["reading"];
  const auto row = static_cast<std::size_t>(document.row());
  if (row >= readings.size()) return;
  const std::string who = page.query_name(row);
  page.space();
  const Sight sight = sight_of(document, document.head(), row);
  if (sight == Sight::kHidden) page.paragraph(filled(page.words.sees_nothing, {who}));
  if (sight == Sight::kBroken) page.paragraph(filled(page.words.not_finite, {who}));
  if (sight != Sight::kSome) return;
  const auto number = [&](const Json& value) { return number_text(number_of(value), page.style.digits); };
  const Json& weights = readings[row]["weights"];
  bool all = false;
  const std::size_t count = ties(document, row, all);
  std::string text = filled(page.words.looks_at, {who, looked_at(page, row, 0), number(weights[0])});
  if (count > 1 && all) {
    text = filled(page.words.looks_alike, {who, number(weights[0])});
  } else if (count > 1) {
    const double together = static_cast<double>(count) * number_of(weights[0]);
    text = filled(page.words.looks_equally,
                  {who, tied_names(page, row, count), number(weights[0]), number_text(together, page.style.digits)});
  } else if (weights.size() > 1 && number(weights[1]) != number(0)) {
    text += filled(page.words.looks_then,
                   {looked_at(page, row, 1), number(weights[1]), number(readings[row]["cumulative"][1])});
  }
  page.paragraph(text + ".");
}

void write_sink(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const auto row = static_cast<std::size_t>(document.row());
  if (!document.json()["options"].contains("sinks") || document.row() >= document.dim("Tq")) return;
  double sum = 0;
  for (const double weight : row_of(document, "p", head, row)) sum += weight;
  if (!std::isfinite(sum)) return;
  page.paragraph(filled(page.words.takes_the_rest,
                        {number_text(std::max(0.0, 1 - sum), page.style.digits), number_text(sum, page.style.digits)}));
}

void write_who_looks_at_whom(PageWriter& page) {
  constexpr std::size_t kMostRows = 40, kMostShown = 3;
  const ExplainDocument& document = page.document;
  const Json& readings = document.json()["reading"];
  if (readings.size() < 2 || readings.size() > kMostRows) return;
  page.heading(page.words.who_title);
  Block lines;
  for (std::size_t shown = kMostShown; shown > 0; --shown) {
    lines = reading_table(page, shown);
    if (width_of(lines) <= page.inner_width()) break;
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (static_cast<std::int64_t>(i) == document.row()) lines[i] = page.style.paint.picked(lines[i]);
  page.block(lines);
}

}  // namespace qkv::cli
