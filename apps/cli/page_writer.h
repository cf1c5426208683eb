// A page under construction: headings, paragraphs, blocks, each as wide as the page allows.
#ifndef QKV_APPS_CLI_PAGE_WRITER_H_
#define QKV_APPS_CLI_PAGE_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/block.h"
#include "apps/cli/catalogue.h"
#include "apps/cli/explain_document.h"
#include "apps/cli/matrix_block.h"

namespace qkv::cli {

// An option as the user gave it: "--row" "bank", "--causal" "".
struct GivenOption {
  std::string name, value;
};

struct PageStyle {
  int width = 80;
  int digits = 2;
  Paint paint;
  std::string file;                // as the user wrote it, for hints; "" for an example
  std::vector<GivenOption> given;  // what hints keep
};

inline constexpr int kWidestName = 16;  // of a token in a table; longer ones are cut

class PageWriter {
 public:
  PageWriter(const ExplainDocument& shown, const PageStyle& how)
      : document(shown), style(how), words(catalogue(shown.language())) {}

  void heading(std::string_view title);   // ── title ─────
  void paragraph(std::string_view text);  // wrapped, indented by 2
  void block(const Block& lines);         // indented by 2
  void blocks(const std::vector<Block>& parts) { block(laid_out(parts, inner_width(), kGap)); }
  void line(std::string_view text);
  void space() { text_ += '\n'; }

  // "÷ √2", or "× 0.25" where a scale was given.
  std::string scale_text() const;
  // "bank", "the (4)" where a token occurs twice, "query 0" and "key 0" without tokens.
  std::string query_name(std::size_t index) const;
  std::string key_name(std::size_t index) const;

  int inner_width() const { return style.width - 2; }
  MatrixStyle matrix_style() const;
  MatrixStyle matrix_style_at_row() const;  // pointing at the row that is looked at

  std::string finish() { return std::move(text_); }

  const ExplainDocument& document;
  const PageStyle& style;
  const Catalogue& words;

 private:
  static constexpr int kGap = 3;  // columns between matrices
  std::string text_;
};

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_PAGE_WRITER_H_
