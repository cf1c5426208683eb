// The steps of a layer.
#include "apps/cli/explain_layer.h"

#include <algorithm>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

// For a matrix whose columns are each all 0 but for one 1: the row of that 1 in columns first ... first + count − 1,
// "3 1"; "" for any other matrix.
std::string picked_columns(const Matrix& weights, std::size_t first, std::size_t count) {
  std::string text;
  for (std::size_t column = first; column < first + count; ++column) {
    std::ptrdiff_t one = -1;
    for (std::size_t row = 0; row < weights.rows(); ++row) {
      const double value = column < weights.columns() ? weights.values[row][column] : 2;
      if (value == 0) continue;
      if (value != 1 || one >= 0) return "";
      one = static_cast<std::ptrdiff_t>(row);
    }
    if (one < 0) return "";
    text += (text.empty() ? "" : " ") + std::to_string(one);
  }
  return text;
}

void write_picked_columns(PageWriter& page, const std::vector<std::int64_t>& heads) {
  const ExplainDocument& document = page.document;
  const auto width = static_cast<std::size_t>(document.dim("D"));
  const auto value_width = static_cast<std::size_t>(document.dim("Dv"));
  std::vector<std::string> lines;
  for (const std::int64_t head : heads) {
    const auto q = static_cast<std::size_t>(head), kv = static_cast<std::size_t>(document.kv_head_of(head));
    const std::string from[] = {picked_columns(document.matrix("wq"), q * width, width),
                                picked_columns(document.matrix("wk"), kv * width, width),
                                picked_columns(document.matrix("wv"), kv * value_width, value_width)};
    for (const std::string& columns : from)
      if (columns.empty()) return;
    lines.push_back(filled(page.words.picks_of_head, {std::to_string(head), from[0], from[1], from[2]}));
  }
  page.space();
  page.paragraph(page.words.picks_columns);
  for (const std::string& each : lines) page.line("  " + each);
}

bool is_zero(const Matrix& matrix) {
  for (const auto& row : matrix.values)
    for (double value : row)
      if (value != 0) return false;
  return matrix.rows() > 0;
}

void write_norm(PageWriter& page) {
  const ExplainDocument& document = page.document;
  if (document.stage("sigma") == nullptr) return;
  page.heading(page.words.step_norm);
  page.paragraph(page.words.norm_text);
  if (is_zero(document.matrix("mean"))) page.paragraph(page.words.mean_is_zero);
  page.space();
  const std::vector<std::string> names = numbered(document.query_names());
  const Matrix row_of_sigma = document.matrix("sigma");
  Matrix sigma{row_of_sigma.symbol, "", {}};
  if (!row_of_sigma.values.empty())
    for (double value : row_of_sigma.values[0]) sigma.values.push_back({value});
  page.blocks({matrix_block(document.matrix("x"), names, {}, page.matrix_style_at_row()),
               matrix_block(sigma, names, {" "}, page.matrix_style_at_row()),
               matrix_block(document.matrix("u"), names, {}, page.matrix_style_at_row())});
}

}  // namespace

void write_layer_steps(PageWriter& page, const std::vector<std::int64_t>& heads) {
  write_norm(page);
  page.heading(page.words.step_project);
  page.paragraph(page.words.project_text);
  write_picked_columns(page, heads);
  const ExplainDocument& document = page.document;
  const std::vector<std::string> names = numbered(document.query_names());
  for (const std::int64_t head : heads) {
    std::vector<Block> parts;
    for (const char* name : {"q", "k", "v"}) {
      const std::int64_t at = name[0] == 'q' ? head : document.kv_head_of(head);
      Matrix matrix = document.matrix(name, at);
      MatrixStyle style = page.matrix_style();
      if (name[0] == 'q') style = page.matrix_style_at_row();
      if (document.dim("Hq") > 1) style.title = matrix.symbol + "[" + std::to_string(at) + "] = " + matrix.formula;
      parts.push_back(matrix_block(matrix, names, {}, style));
    }
    page.space();
    page.blocks(parts);
  }
}

void write_merged_heads(PageWriter& page) {
  const ExplainDocument& document = page.document;
  if (document.dim("Hq") > 1) {
    page.heading(page.words.merged_title);
    page.paragraph(page.words.merged_text);
    page.space();
    page.blocks(
        {matrix_block(document.matrix("merged"), numbered(document.query_names()), {}, page.matrix_style_at_row())});
  }
  if (document.stage("y") == nullptr) return;
  page.space();
  page.paragraph(page.words.output_text);
  page.space();
  page.blocks({matrix_block(document.matrix("y"), numbered(document.query_names()), {}, page.matrix_style_at_row())});
}

}  // namespace qkv::cli
