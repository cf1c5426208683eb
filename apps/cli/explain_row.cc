// The chain of one row.
#include "apps/cli/explain_row.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr std::size_t kMostKeys = 16;  // longer rows show their largest weights only
constexpr int kWidestBar = 24;
constexpr int kNarrowestBar = 4;

struct RowStages {
  std::vector<double> raw, scaled, last, masked, p, o;  // last: after softcap and bias
  bool has_last = false;
  Matrix v;
};

std::vector<double> row_at(const Matrix& matrix, std::int64_t row) {
  return row < static_cast<std::int64_t>(matrix.rows()) ? matrix.values[static_cast<std::size_t>(row)]
                                                        : std::vector<double>();
}

RowStages stages_of(const ExplainDocument& document, std::int64_t head) {
  const std::int64_t row = document.row();
  const auto at = [&](const char* name) { return row_at(document.matrix(name, head), row); };
  RowStages out{at("raw"), at("scaled"), {}, at("masked"), at("p"), at("o"), false, {}};
  out.v = document.matrix("v", document.kv_head_of(head));
  for (const char* name : {"capped", "biased"})
    if (document.stage(name) != nullptr) {
      out.last = at(name);
      out.has_last = true;
    }
  return out;
}

// Keys to show: all, or where there are too many the largest weights, in the order of the keys.
std::vector<std::size_t> shown_keys(const std::vector<double>& p) {
  std::vector<std::size_t> keys(p.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  if (keys.size() <= kMostKeys) return keys;
  // Keys of equal weight by index, NaN last: an order that std::sort can rely on.
  const auto weight = [&](std::size_t key) { return std::isnan(p[key]) ? -1.0 : p[key]; };
  std::sort(keys.begin(), keys.end(),
            [&](std::size_t a, std::size_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  keys.resize(kMostKeys);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// The table of a row. Columns that do not fit are left out: first the values, then the bar.
class Chain {
 public:
  Chain(const PageWriter& page, const RowStages& stages) : page_(page), stages_(stages) {}

  Block lines(bool with_values, int bar_width) const {
    std::vector<std::vector<std::string>> rows{head(with_values)};
    for (const std::size_t key : shown_keys(stages_.p)) rows.push_back(row(key, with_values, bar_width));
    rows.push_back(total(with_values));
    std::vector<bool> right{false, true, true};
    if (stages_.has_last) right.push_back(true);
    for (const bool side : {true, false, false}) right.push_back(side);
    return table(rows, right);
  }

 private:
  std::string number(double value) const { return number_text(value, page_.style.digits); }
  bool is_hidden(std::size_t key) const { return std::isinf(stages_.masked[key]) && stages_.masked[key] < 0; }

  std::vector<std::string> head(bool with_values) const {
    std::vector<std::string> cells{"", std::string(page_.words.score), "② " + page_.scale_text()};
    if (stages_.has_last) cells.push_back(last_label());
    cells.emplace_back(page_.words.weight);
    cells.emplace_back("");
    if (with_values) cells.emplace_back(page_.words.mix);
    return cells;
  }

  std::string last_label() const {
    const ExplainDocument& document = page_.document;
    if (document.stage("biased") == nullptr) return "cap";
    return document.stage("capped") == nullptr ? "+ bias" : "cap + bias";
  }

  std::vector<std::string> row(std::size_t key, bool with_values, int bar_width) const {
    const std::vector<std::string> names = numbered(page_.document.key_names());
    std::vector<std::string> cells{cut(names[key], kWidestName), number(stages_.raw[key]), number(stages_.scaled[key])};
    if (stages_.has_last) cells.push_back(number(stages_.last[key]));
    cells.push_back(number(stages_.p[key]));
    const Paint& paint = page_.style.paint;
    cells.push_back(is_hidden(key) ? paint.dim(page_.words.hidden) : paint.accent(bar(stages_.p[key], bar_width)));
    if (with_values && !is_hidden(key))
      cells.push_back(number(stages_.p[key]) + " × " + vector_text(stages_.v.values[key], page_.style.digits));
    return cells;
  }

  std::vector<std::string> total(bool with_values) const {
    std::vector<std::string> cells{std::string(page_.words.total), "", ""};
    if (stages_.has_last) cells.emplace_back("");
    cells.push_back(number(sum_of_weights()));
    cells.emplace_back("");
    if (with_values) cells.push_back("= " + vector_text(stages_.o, page_.style.digits));
    return cells;
  }

  double sum_of_weights() const {
    for (const Json& sums : page_.document.json()["row_sums"])
      if (sums["stage"] == "p") {
        const auto head = static_cast<std::size_t>(head_), row = static_cast<std::size_t>(page_.document.row());
        return number_of(sums["values"][0][head][row]);
      }
    return 0;
  }

  const PageWriter& page_;
  const RowStages& stages_;

 public:
  std::int64_t head_ = 0;
};

Block fitting_chain(const Chain& chain, int width) {
  for (const bool with_values : {true, false})
    for (int bar_width = kWidestBar; bar_width >= kNarrowestBar; bar_width -= 2) {
      Block lines = chain.lines(with_values, bar_width);
      if (width_of(lines) <= width) return lines;
    }
  return chain.lines(false, 0);
}

constexpr const char* kStuck = "\u00A0";  // a space at which no line is broken

std::string joined_numbers(const std::vector<double>& values, int digits) {
  std::string text;
  for (double value : values) text += (text.empty() ? "" : kStuck) + number_text(value, digits);
  return text;
}

// "0.71 2.12 2.83 → 0.07 0.31 0.62 → [0.85 0.15]", where it fits.
void write_one_line(PageWriter& page, const RowStages& stages) {
  constexpr std::size_t kMostInOneLine = 8;
  if (stages.p.size() > kMostInOneLine) return;
  const int digits = page.style.digits;
  const std::string arrow = std::string(" →") + kStuck;
  std::string answer = vector_text(stages.o, digits);
  for (std::size_t at = answer.find(' '); at != std::string::npos; at = answer.find(' ')) answer.replace(at, 1, kStuck);
  page.space();
  std::string scores;  // those that enter the softmax: capped, biased, masked
  for (double value : stages.masked)
    scores += (scores.empty() ? "" : kStuck) + (std::isinf(value) && value < 0 ? "·" : number_text(value, digits));
  page.paragraph(std::string(page.words.one_line) + " " + scores + arrow + joined_numbers(stages.p, digits) + arrow +
                 answer);
}

}  // namespace

void write_row(PageWriter& page, std::int64_t head) {
  const ExplainDocument& document = page.document;
  if (document.dim("Tq") == 0 || document.dim("Tk") == 0) return;
  const auto row = static_cast<std::size_t>(document.row());
  const RowStages stages = stages_of(document, head);
  const std::string q = vector_text(row_at(document.matrix("q", head), document.row()), page.style.digits);
  const std::string name = page.query_name(row);
  if (document.dim("Hq") > 1)
    page.heading(filled(page.words.head_asks, {std::to_string(head), name, q}));
  else
    page.heading(filled(page.words.asks, {name, q}));
  Chain chain(page, stages);
  chain.head_ = head;
  page.block(fitting_chain(chain, page.inner_width()));
  write_one_line(page, stages);
}

}  // namespace qkv::cli
