// Laying out blocks.
#include "apps/cli/block.h"

#include <algorithm>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

std::string without_trailing_spaces(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Blocks first ... last − 1 in one row.
void append_row(Block& out, const std::vector<Block>& blocks, std::size_t first, std::size_t last, int gap) {
  std::size_t height = 0;
  for (std::size_t i = first; i < last; ++i) height = std::max(height, blocks[i].size());
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = first; i < last; ++i) {
      const std::string part = line < blocks[i].size() ? blocks[i][line] : "";
      text += pad_right(part, width_of(blocks[i]) + (i + 1 < last ? gap : 0));
    }
    out.push_back(without_trailing_spaces(text));
  }
}

}  // namespace

int width_of(const Block& block) {
  int width = 0;
  for (const std::string& line : block) width = std::max(width, display_width(line));
  return width;
}

Block laid_out(const std::vector<Block>& blocks, int width, int gap) {
  Block out;
  std::size_t first = 0;
  while (first < blocks.size()) {
    std::size_t last = first + 1;
    int used = width_of(blocks[first]);
    while (last < blocks.size() && used + gap + width_of(blocks[last]) <= width) used += gap + width_of(blocks[last++]);
    if (first > 0) out.emplace_back();
    append_row(out, blocks, first, last, gap);
    first = last;
  }
  return out;
}

Block table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<int> widths(right.size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  Block out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      line += right[i] ? pad_left(row[i], widths[i]) : pad_right(row[i], widths[i]);
    }
    out.push_back(without_trailing_spaces(line));
  }
  return out;
}

}  // namespace qkv::cli
