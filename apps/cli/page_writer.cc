// Composing a page.
#include "apps/cli/page_writer.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/console.h"
#include "apps/cli/text.h"

namespace qkv::cli {

void PageWriter::heading(std::string_view title) {
  const int width = std::min(style.width, kWidestText);
  const std::string name = cut(title, std::max(8, width - 6));
  const int rule = std::max(2, width - 4 - display_width(name));
  text_ += '\n' + style.paint.accent("── " + name + " " + repeated("─", rule)) + "\n\n";
}

void PageWriter::paragraph(std::string_view text) {
  for (const std::string& each : wrapped(text, std::min(style.width, kWidestText), 2)) text_ += each + '\n';
}

void PageWriter::block(const Block& lines) {
  for (const std::string& each : lines) text_ += (each.empty() ? "" : "  " + each) + '\n';
}

void PageWriter::line(std::string_view text) { text_ += "  " + std::string(text) + '\n'; }

std::string PageWriter::scale_text() const {
  const Json& options = document.json()["options"];
  if (!options.value("scale_given", false)) return "÷ √" + std::to_string(document.dim("D"));
  const double scale = options.value("scale", 1.0);
  constexpr double kPlain = 1000;  // whole numbers below it need no decimals
  return "× " + number_text(scale, scale == std::round(scale) && std::abs(scale) < kPlain ? 0 : 3);
}

namespace {

std::string name_of(const std::vector<std::string>& names, std::size_t index, bool has_tokens, std::string_view plain) {
  const std::string& name = names[index];
  if (!has_tokens) return filled(plain, {name});
  const bool twice = std::count(names.begin(), names.end(), name) > 1;
  return twice ? name + " (" + std::to_string(index) + ")" : name;
}

}  // namespace

std::string PageWriter::query_name(std::size_t index) const {
  return name_of(document.query_names(), index, document.has_tokens(), words.query_number);
}

std::string PageWriter::key_name(std::size_t index) const {
  return name_of(document.key_names(), index, document.has_tokens(), words.key_number);
}

MatrixStyle PageWriter::matrix_style() const {
  MatrixStyle matrix;
  matrix.digits = style.digits;
  matrix.width = inner_width();
  matrix.paint = style.paint;
  return matrix;
}

MatrixStyle PageWriter::matrix_style_at_row() const {
  MatrixStyle matrix = matrix_style();
  matrix.picked = static_cast<std::ptrdiff_t>(document.row());
  return matrix;
}

}  // namespace qkv::cli
