// Matrices, vectors, numbers and bars as text.
#include "apps/cli/matrix_block.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr int kWidestRowLabel = 16;
constexpr int kWidestColumnLabel = 8;  // of a token above its column: longer ones are cut
constexpr std::string_view kHidden = "·";

std::string cell(double value, const MatrixStyle& style) {
  if (style.hide_infinite && std::isinf(value) && value < 0) return std::string(kHidden);
  return number_text(value, style.digits);
}

std::string label(const std::vector<std::string>& labels, std::size_t index, int widest) {
  return index < labels.size() ? cut(labels[index], widest) : std::to_string(index);
}

int widest_label(const std::vector<std::string>& labels, std::size_t count, int limit) {
  int widest = 0;
  for (std::size_t i = 0; i < count; ++i) widest = std::max(widest, display_width(label(labels, i, limit)));
  return widest;
}

// "A = softmax(S)  [3,3]", on several lines where it is wider than the block may be.
Block title_of(const Matrix& matrix, const MatrixStyle& style) {
  std::string title = style.title;
  if (title.empty()) title = matrix.formula.empty() ? matrix.symbol : matrix.symbol + " = " + matrix.formula;
  const std::string shape = "[" + std::to_string(matrix.rows()) + "," + std::to_string(matrix.columns()) + "]";
  const bool fits = display_width(title) + 2 + display_width(shape) <= style.width;
  if (fits) return {style.paint.bold(title) + "  " + style.paint.dim(shape)};
  Block lines;
  for (const std::string& line : wrapped(title, style.width, 0)) lines.push_back(style.paint.bold(line));
  lines.push_back(style.paint.dim(shape));
  return lines;
}

// Columns first ... last − 1 under their labels.
void append_columns(Block& out, const Matrix& matrix, const std::vector<std::string>& rows,
                    const std::vector<std::string>& columns, const std::vector<int>& widths, std::size_t first,
                    std::size_t last, const MatrixStyle& style) {
  const int margin = widest_label(rows, matrix.rows(), kWidestRowLabel);
  std::string head = repeated(" ", margin + 2);
  for (std::size_t j = first; j < last; ++j)
    head += " " + pad_left(label(columns, j, std::max(kWidestColumnLabel, widths[j])), widths[j]);
  const bool blank = head.find_first_not_of(' ') == std::string::npos;
  out.push_back(blank ? "" : style.paint.dim(head));
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    const bool picked = static_cast<std::ptrdiff_t>(i) == style.picked;
    std::string line = (picked ? "▸ " : "  ") + pad_right(label(rows, i, kWidestRowLabel), margin);
    for (std::size_t j = first; j < last; ++j) line += " " + pad_left(cell(matrix.values[i][j], style), widths[j]);
    out.push_back(picked ? style.paint.picked(line) : line);
  }
}

}  // namespace

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  char text[64];
  const bool huge = std::abs(value) >= 1e7;  // fixed notation would push a column off the page
  const int length = std::snprintf(text, sizeof text, huge ? "%.*e" : "%.*f", digits, value);
  std::string out(text, static_cast<std::size_t>(std::clamp(length, 0, 63)));
  if (out.find_first_not_of("-0.") == std::string::npos && out[0] == '-') out.erase(0, 1);
  return out;
}

std::string vector_text(const std::vector<double>& values, int digits, std::size_t most) {
  const bool whole = values.size() <= most;
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!whole && i == most - 2) text += " …";
    if (!whole && i >= most - 2 && i + 1 < values.size()) continue;
    text += (i > 0 ? " " : "") + number_text(values[i], digits);
  }
  return text + "]";
}

std::string small_number_text(double value) {
  if (value == 0) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  std::string out = text;
  if (const std::size_t zero = out.find(".0e"); zero != std::string::npos) out.erase(zero, 2);
  return out;
}

std::string bar(double weight, int width) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::isnan(weight) ? 0 : std::clamp(weight, 0.0, 1.0);
  const int eighths = static_cast<int>(std::lround(clamped * width * 8));
  return repeated("█", eighths / 8) + kEighths[eighths % 8];
}

std::vector<std::string> numbered(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  const int digits = static_cast<int>(std::to_string(names.empty() ? 0 : names.size() - 1).size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string index = std::to_string(i);
    out.push_back(names[i] == index ? index : pad_left(index, digits) + " " + names[i]);
  }
  return out;
}

Block matrix_block(const Matrix& matrix, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                   const MatrixStyle& style) {
  std::vector<int> widths;
  for (std::size_t j = 0; j < matrix.columns(); ++j) {
    int width = display_width(label(columns, j, kWidestColumnLabel));
    for (const auto& row : matrix.values) width = std::max(width, display_width(cell(row[j], style)));
    widths.push_back(width);
  }
  Block out = title_of(matrix, style);
  const int margin = widest_label(rows, matrix.rows(), kWidestRowLabel) + 2;
  std::size_t first = 0;
  while (first < matrix.columns()) {
    std::size_t last = first + 1;
    int used = margin + 1 + widths[first];
    while (last < matrix.columns() && used + 1 + widths[last] <= style.width) used += 1 + widths[last++];
    if (first > 0) out.emplace_back();
    append_columns(out, matrix, rows, columns, widths, first, last, style);
    first = last;
  }
  return out;
}

}  // namespace qkv::cli
