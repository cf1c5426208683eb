// Gradients, a matrix at a time.
#include "apps/cli/explain_backward.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr std::size_t kMostRows = 24;  // a larger gradient is summed up by its largest error
constexpr std::size_t kMostColumns = 16;

bool is_small(const Matrix& matrix) {
  return matrix.rows() > 0 && matrix.rows() <= kMostRows && matrix.columns() <= kMostColumns;
}

// "dQ not shown: 32 columns; --json has them".
std::string not_shown_text(const PageWriter& page, const Matrix& matrix) {
  const bool wide = matrix.columns() > kMostColumns;
  return filled(wide ? page.words.not_shown_columns : page.words.not_shown_rows,
                {matrix.symbol, std::to_string(wide ? matrix.columns() : matrix.rows())});
}

// Whose rows a gradient has: queries, keys or none.
std::vector<std::string> row_names(const ExplainDocument& document, const std::string& gradient) {
  if (gradient == "dk" || gradient == "dv") return numbered(document.key_names());
  for (const char* name : {"dq", "dx", "du", "do", "dp", "ds", "dmerged", "dy"})
    if (gradient == name) return numbered(document.query_names());
  return {};
}

double max_error(const ExplainDocument& document, const std::string& gradient) {
  for (const Json& each : document.json()["differences"])
    if (each["stage"] == gradient) return number_of(each["max_error"]);
  return 0;
}

// "scale · dS K" as the lesson writes it: "dS K ÷ √4".
std::string with_scale(const PageWriter& page, const std::string& formula) {
  const std::string factor = "scale · ";
  return formula.rfind(factor, 0) == 0 ? formula.substr(factor.size()) + " " + page.scale_text() : formula;
}

// "dQ = dS K ÷ √4" beside "central differences", and the largest difference between the two.
void write_gradient(PageWriter& page, const std::string& gradient, std::int64_t head) {
  const ExplainDocument& document = page.document;
  if (document.stage(gradient) == nullptr) return;
  const Matrix exact = document.matrix(gradient, head);
  const Matrix moved = document.differences(gradient, head);
  if (exact.rows() == 0) return;
  page.space();
  if (!is_small(exact)) {
    std::string text = not_shown_text(page, exact);
    if (moved.rows() > 0)
      text += " · " + filled(page.words.largest_error, {small_number_text(max_error(document, gradient))});
    page.paragraph(text);
    return;
  }
  const std::vector<std::string> names = row_names(document, gradient);
  MatrixStyle own = page.matrix_style();
  own.title = exact.symbol + (exact.formula.empty() ? "" : " = " + with_scale(page, exact.formula));
  std::vector<Block> parts{matrix_block(exact, names, {}, own)};
  if (moved.rows() > 0) {
    MatrixStyle style = page.matrix_style();
    style.title = page.words.differences;
    parts.push_back(matrix_block(moved, names, {}, style));
    parts.back().push_back(page.style.paint.dim(
        "  " + filled(page.words.largest_error, {small_number_text(max_error(document, gradient))})));
  }
  page.blocks(parts);
}

const Json* row_sums(const ExplainDocument& document, const char* stage) {
  for (const Json& sums : document.json()["row_sums"])
    if (sums["stage"] == stage) return &sums;
  return nullptr;
}

// What the sums of the rows of dS say.
void write_row_sums(PageWriter& page, double largest) {
  page.space();
  if (page.document.json()["options"].contains("sinks"))
    page.paragraph(page.words.row_sums_sink);
  else if (largest == 0)
    page.paragraph(page.words.row_sums_exact);
  else if (std::isfinite(largest))
    page.paragraph(filled(page.words.row_sums, {small_number_text(largest)}));
}

// dS with its row sums as one more column.
void write_scores(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  Matrix ds = document.matrix("ds", head);
  const Json* sums = row_sums(document, "ds");
  if (sums == nullptr || ds.rows() == 0) return;
  if (!is_small(ds)) {
    page.space();
    for (const char* stage : {"dp", "ds"}) page.paragraph(not_shown_text(page, document.matrix(stage, head)));
    return;
  }
  std::vector<std::string> columns = document.key_names();
  Matrix column{std::string(page.words.sum), "", {}};
  for (const Json& sum : (*sums)["values"][0][static_cast<std::size_t>(head)])
    column.values.push_back({number_of(sum)});
  const std::vector<std::string> names = numbered(document.query_names());
  const Matrix dp = document.matrix("dp", head);
  page.space();
  page.blocks({matrix_block(dp, names, columns, page.matrix_style())});
  page.space();
  page.blocks(
      {matrix_block(ds, names, columns, page.matrix_style()), matrix_block(column, names, {" "}, page.matrix_style())});
  write_row_sums(page, number_of((*sums)["largest"]));
}

bool is_saturated(const ExplainDocument& document) {
  constexpr double kDecided = 0.99;  // the lesson's mark for a row that lets nothing through
  const Json& readings = document.json()["reading"];
  const auto row = static_cast<std::size_t>(document.row());
  return row < readings.size() && !readings[row]["weights"].empty() &&
         number_of(readings[row]["weights"][0]) > kDecided;
}

bool all_ones(const Matrix& matrix) {
  for (const auto& row : matrix.values)
    for (double value : row)
      if (value != 1) return false;
  return true;
}

}  // namespace

void write_backward(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const Json& json = document.json();
  if (!json.contains("loss")) return;
  page.heading(page.words.back_title);
  const bool moved = json["differences"].is_array();
  page.paragraph(
      filled(moved ? page.words.back_text : page.words.back_text_alone,
             {number_text(number_of(json["loss"]), page.style.digits), small_number_text(number_of(json["step"]))}));
  const char* given = document.is_layer() ? "dy" : "do";
  if (all_ones(document.matrix(given, head))) page.paragraph(page.words.back_ones);
  if (!moved) page.paragraph(page.words.too_costly);
  const std::int64_t kv_head = document.kv_head_of(head);
  write_gradient(page, given, head);
  if (document.is_layer()) write_gradient(page, "do", head);
  write_gradient(page, "dv", kv_head);
  write_scores(page, head);
  if (is_saturated(document)) page.paragraph(page.words.saturated);
  write_gradient(page, "dq", head);
  write_gradient(page, "dk", kv_head);
  if (!document.is_layer()) {
    for (const char* gradient : {"dbias", "dsinks"}) write_gradient(page, gradient, head);
    return;
  }
  page.heading(page.words.gradients);
  for (const char* gradient :
       {"dx", "dgamma", "dbeta", "dwq", "dbq", "dwk", "dbk", "dwv", "dbv", "dwo", "dbo", "dbias", "dsinks"})
    write_gradient(page, gradient, 0);
}

}  // namespace qkv::cli
