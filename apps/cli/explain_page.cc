// The order of a page: who, with what, one row, all rows, and what to try next.
#include "apps/cli/explain_page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/cli/explain_backward.h"
#include "apps/cli/explain_hints.h"
#include "apps/cli/explain_layer.h"
#include "apps/cli/explain_reading.h"
#include "apps/cli/explain_row.h"
#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr std::int64_t kMostTokens = 24;          // larger matrices are left to --json
constexpr std::int64_t kMostTokensOfScores = 12;  // with more, A alone: S says little that A does not
constexpr std::int64_t kMostWidth = 8;            // of a head whose vectors are printed whole
constexpr std::int64_t kMostHeadsAtOnce = 4;      // with more, the page shows one

// The heads that the page shows: the one asked for, or all of a few.
std::vector<std::int64_t> heads_of(const ExplainDocument& document) {
  const std::int64_t heads = document.dim("Hq");
  if (document.head_given() || heads > kMostHeadsAtOnce) return {document.head()};
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) all.push_back(head);
  return all;
}

std::string_view intro(const PageWriter& page) {
  const std::string example = page.document.example();
  if (example == "bank") return page.words.bank_intro;
  if (example == "running") return page.words.running_intro;
  return example == "backward" ? page.words.backward_intro : page.words.file_intro;
}

std::string size_text(const PageWriter& page) {
  const ExplainDocument& document = page.document;
  const std::int64_t queries = document.dim("Tq"), keys = document.dim("Tk");
  const auto counted = [](std::string_view one, std::string_view many, std::int64_t count) {
    return filled(count == 1 ? one : many, {std::to_string(count)});
  };
  std::string text = counted(page.words.one_token, page.words.tokens, keys);
  if (queries != keys)
    text = counted(page.words.one_query, page.words.queries, queries) + ", " +
           counted(page.words.one_key, page.words.keys, keys);
  if (document.is_layer()) text += " · C = " + std::to_string(document.dim("C"));
  text += " · D = " + std::to_string(document.dim("D"));
  if (document.dim("Dv") != document.dim("D")) text += ", Dv = " + std::to_string(document.dim("Dv"));
  return text;
}

std::string head_text(const PageWriter& page, std::int64_t head) {
  return filled(page.words.head_of_heads, {std::to_string(head), std::to_string(page.document.dim("Hq") - 1)});
}

std::string heads_text(const PageWriter& page, const std::vector<std::int64_t>& heads) {
  if (heads.size() == 1) return head_text(page, heads[0]);
  return filled(page.words.heads, {std::to_string(page.document.dim("Hq"))});
}

void write_title(PageWriter& page, const std::vector<std::int64_t>& heads) {
  const ExplainDocument& document = page.document;
  const Json& select = document.json()["select"];
  std::string title = page.style.file.empty() ? document.example() : printable(page.style.file);
  std::string rest = size_text(page);
  if (select.value("batches", 1) > 1)
    rest += " · " + filled(page.words.batch_of_batches,
                           {std::to_string(select.value("batch", 0)), std::to_string(select.value("batches", 1) - 1)});
  if (document.dim("Hq") > 1) rest += " · " + heads_text(page, heads);
  page.block(wrapped(page.style.paint.bold(title) + " · " + rest, page.inner_width(), 0));
  page.space();
  page.paragraph(intro(page));
  const Json& source = document.json().value("source", Json::object());
  if (source.is_object() && source.contains("sentence") && source["sentence"].is_string())
    page.paragraph("“" + printable(source["sentence"].get<std::string>()) + "”");
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> numbers;
  for (const Json& value : list) numbers.push_back(number_of(value));
  return numbers;
}

void write_edits(PageWriter& page) {
  const Json& edits = page.document.json()["edits"];
  if (edits.empty()) return;
  page.space();
  bool only_values = true;
  for (const Json& edit : edits) {
    const std::string text = edit["text"];
    const std::string place = printable(text.substr(0, text.rfind('=')));
    page.paragraph(filled(page.words.changed, {place, vector_text(numbers_of(edit["after"]), page.style.digits),
                                               vector_text(numbers_of(edit["before"]), page.style.digits)}));
    only_values = only_values && edit["input"] == "v";
  }
  if (only_values) page.paragraph(page.words.only_values_changed);
}

// q, k and v of every token in one table: what it looks for, advertises, delivers.
void write_vectors(PageWriter& page) {
  const ExplainDocument& document = page.document;
  const std::int64_t queries = document.dim("Tq"), keys = document.dim("Tk");
  if (std::max(queries, keys) > kMostTokens || std::max(document.dim("D"), document.dim("Dv")) > kMostWidth) return;
  const std::int64_t head = document.head();
  const Matrix q = document.matrix("q", head);
  const Matrix k = document.matrix("k", document.kv_head_of(head)), v = document.matrix("v", document.kv_head_of(head));
  const auto part = [&](const Matrix& matrix, std::string_view title, const std::vector<std::string>& rows,
                        const std::vector<std::string>& columns, MatrixStyle style) {
    style.title = title;
    return matrix_block(matrix, numbered(rows), columns, style);
  };
  page.space();
  page.blocks({part(q, page.words.query, document.query_names(), {}, page.matrix_style_at_row()),
               part(k, page.words.key, document.key_names(), {}, page.matrix_style()),
               part(v, page.words.value, document.key_names(), document.value_names(), page.matrix_style())});
}

// "The answer: 0.85 river, 0.15 money." where the columns of v have names.
void write_answer(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const Matrix o = document.matrix("o", head);
  const std::vector<std::string>& axes = document.value_names();
  const auto row = static_cast<std::size_t>(document.row());
  if (axes.empty() || row >= o.rows()) return;
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i)
    text += (i == 0 ? "" : ", ") + number_text(o.values[row][i], page.style.digits) + " " + axes[i];
  page.paragraph(filled(page.words.answer, {text}));
}

bool row_is_zero(const Matrix& matrix, std::int64_t row) {
  if (row >= static_cast<std::int64_t>(matrix.rows())) return false;
  for (double value : matrix.values[static_cast<std::size_t>(row)])
    if (value != 0) return false;
  return true;
}

// Whether the row's largest weight is larger than it would be had the scores been divided by √D.
bool is_sharper(const ExplainDocument& document, std::int64_t head) {
  const auto row = static_cast<std::size_t>(document.row());
  const Matrix raw = document.matrix("raw", head), masked = document.matrix("masked", head);
  const Matrix p = document.matrix("p", head);
  for (const char* stage : {"capped", "biased"})
    if (document.stage(stage) != nullptr) return false;
  if (document.json()["options"].contains("sinks") || row >= p.rows() || p.columns() < 2) return false;
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const double root = std::sqrt(static_cast<double>(document.dim("D")));
  double top = kHidden, sum = 0;
  for (std::size_t j = 0; j < p.columns(); ++j)
    if (masked.values[row][j] != kHidden) top = std::max(top, raw.values[row][j] / root);
  for (std::size_t j = 0; j < p.columns(); ++j)
    if (masked.values[row][j] != kHidden) sum += std::exp(raw.values[row][j] / root - top);
  constexpr double kRounding = 1e-9;
  return sum > 1 && *std::max_element(p.values[row].begin(), p.values[row].end()) > 1 / sum + kRounding;
}

// What is special about the row that was just shown.
void write_remarks(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const Json& options = document.json()["options"];
  const bool plain = document.stage("biased") == nullptr && !options.contains("sinks");
  if (plain && row_is_zero(document.matrix("q", head), document.row())) page.paragraph(page.words.zero_query);
  if (options.value("scale_given", false) && options.value("scale", 0.0) == 1.0 && document.dim("D") > 1)
    page.paragraph(filled(is_sharper(document, head) ? page.words.sharper : page.words.not_divided,
                          {std::to_string(document.dim("D"))}));
}

// The lesson's point about the running example: the first row looks ahead, or the mask keeps it from doing so.
void write_running_remark(PageWriter& page) {
  const ExplainDocument& document = page.document;
  const Json& options = document.json()["options"];
  const Json& readings = document.json()["reading"];
  if (document.example() != "running" || readings.empty() || readings[0]["keys"].empty()) return;
  if (options.value("causal", false)) {
    const bool square = options.value("corner", "") != "offset" && options["window"] == Json({-1, -1});
    if (square) {
      page.space();
      page.paragraph(page.words.causal_text);
    }
    return;
  }
  const std::size_t key = readings[0]["keys"][0];
  if (key == 0) return;
  constexpr int kDigits = 2;  // as the lesson says it: 0.66
  page.space();
  page.paragraph(filled(page.words.looked_ahead, {document.query_names()[0], document.key_names()[key],
                                                  number_text(number_of(readings[0]["weights"][0]), kDigits)}));
}

bool rows_sum_to_one(const ExplainDocument& document) {
  constexpr double kRounding = 1e-9;
  for (const Json& sums : document.json()["row_sums"])
    if (sums["stage"] == "p")
      for (const Json& head : sums["values"][0])
        for (const Json& sum : head)
          if (!(std::abs(number_of(sum) - 1) < kRounding)) return false;
  return true;
}

// The scores that enter the softmax, a dot where a mask hides a pair.
Block scores_block(const PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const Matrix masked = document.matrix("masked", head);
  bool hides = false;
  for (const auto& row : masked.values)
    for (double value : row) hides = hides || (std::isinf(value) && value < 0);
  MatrixStyle style = page.matrix_style_at_row();
  style.hide_infinite = true;
  style.title = "S = Q Kᵀ " + page.scale_text();
  if (document.stage("capped") != nullptr) style.title = "S = cap · tanh(S / cap)";
  if (document.stage("biased") != nullptr) style.title += " + B";
  if (hides) style.title += ", · " + std::string(page.words.hidden);
  return matrix_block(masked, numbered(document.query_names()), document.key_names(), style);
}

void write_all_rows(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  const std::int64_t queries = document.dim("Tq"), keys = document.dim("Tk");
  std::string title(page.words.all_title);
  if (document.dim("Hq") > 1) title += " · " + head_text(page, head);
  page.heading(title);
  if (std::max(queries, keys) > kMostTokens) {
    page.paragraph(filled(page.words.matrices_left_out, {std::to_string(queries), std::to_string(keys)}));
    return;
  }
  if (rows_sum_to_one(document)) {
    page.paragraph(page.words.all_text);
    page.space();
  }
  const std::vector<std::string> rows = numbered(document.query_names());
  std::vector<Block> parts;
  if (keys <= kMostTokensOfScores) parts.push_back(scores_block(page, head));
  parts.push_back(matrix_block(document.matrix("p", head), rows, document.key_names(), page.matrix_style_at_row()));
  if (document.dim("Dv") <= kMostWidth)
    parts.push_back(matrix_block(document.matrix("o", head), rows, document.value_names(), page.matrix_style_at_row()));
  page.blocks(parts);
}

}  // namespace

std::string explain_page(const ExplainDocument& document, const PageStyle& style) {
  PageWriter page(document, style);
  const std::vector<std::int64_t> heads = heads_of(document);
  write_title(page, heads);
  write_edits(page);
  if (document.is_layer())
    write_layer_steps(page, heads);
  else
    write_vectors(page);
  for (const std::int64_t head : heads) {
    write_row(page, head);
    if (head == document.head()) write_reading(page);
    write_sink(page, head);
    write_answer(page, head);
    write_remarks(page, head);
    write_all_rows(page, head);
    if (head == document.head() && document.dim("Tk") > 3) write_who_looks_at_whom(page);
    if (head == document.head()) write_running_remark(page);
  }
  if (document.is_layer()) write_merged_heads(page);
  write_backward(page, document.head());
  write_hints(page);
  return page.finish();
}

}  // namespace qkv::cli
