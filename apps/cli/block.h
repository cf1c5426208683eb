// Rectangles of text that are laid out beside and below one another, and the colours in them.
#ifndef QKV_APPS_CLI_BLOCK_H_
#define QKV_APPS_CLI_BLOCK_H_

#include <string>
#include <string_view>
#include <vector>

namespace qkv::cli {

// Colours, or nothing where they are off.
struct Paint {
  bool on = false;
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string accent(std::string_view text) const { return wrap("36", text); }    // cyan: bars, section titles
  std::string picked(std::string_view text) const { return wrap("1;33", text); }  // bold yellow: the row looked at

 private:
  std::string wrap(const char* code, std::string_view text) const {
    if (!on || text.empty()) return std::string(text);
    return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
  }
};

using Block = std::vector<std::string>;  // lines

int width_of(const Block& block);

// Blocks beside one another, `gap` columns between them, as many as fit into `width`; the rest below, after an empty
// line. Lines have no spaces at their end.
Block laid_out(const std::vector<Block>& blocks, int width, int gap);

// A table: columns as wide as their widest cell, two spaces between them. Cells are right-aligned where `right` says
// so.
Block table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_BLOCK_H_
