// Reading and applying edits.
#include "src/explain/edit.h"

#include <algorithm>
#include <string_view>

#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/explain/row_names.h"

namespace qkv {
namespace {

struct Parts {
  std::string_view name, place, values;  // NAME [ place ] = values
};

Status malformed(std::string_view text, const std::string& why) {
  return invalid_argument("explain: set " + quote(text) + " " + why);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// A token may contain brackets ("[CLS]") and commas, so the place ends at the last "]=".
Result<Parts> split(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t equals = text.rfind('=');
  const std::size_t close = equals == std::string_view::npos ? equals : text.rfind(']', equals);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      !trimmed(text.substr(close + 1, equals - close - 1)).empty())
    return malformed(text, "cannot be read; expected NAME[ROW]=numbers or NAME[ROW,COLUMN]=number");
  return Parts{trimmed(text.substr(0, open)), trimmed(text.substr(open + 1, close - open - 1)),
               text.substr(equals + 1)};
}

Result<std::vector<double>> split_values(std::string_view text, std::string_view whole) {
  std::vector<double> values;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string word(trimmed(text.substr(0, comma)));
    double value = 0;
    if (!parse_number(word, value)) return malformed(whole, "has " + quote(word) + " where a number should stand");
    values.push_back(value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

// The head of `numbers` that an edit changes: the one that is looked at, or the KV head that it reads.
std::int64_t head_of(const Request& request, std::string_view name, std::int64_t extent) {
  const std::int64_t head = request.head.value_or(0);
  if (name != "k" && name != "v") return std::clamp<std::int64_t>(head, 0, extent - 1);
  const std::int64_t query_heads = request.tensors.at("q").shape[1];
  const std::int64_t group = std::max<std::int64_t>(1, query_heads / std::max<std::int64_t>(1, extent));
  return std::clamp<std::int64_t>(head / group, 0, extent - 1);
}

// Elements before the matrix [rows, columns] that is edited: the last two axes of the chosen head.
std::int64_t offset_of_matrix(const Request& request, std::string_view name, const Dims& shape) {
  const Dims strides = contiguous_strides(shape);
  std::int64_t offset = 0;
  const int head_axis = shape.rank() - 3;
  const bool is_activation = name == "x" || (request.kind == RequestKind::kLayer && name == "d_output");  // [B,T,C]
  const bool has_heads = head_axis >= 0 && !is_activation;
  if (has_heads && shape[head_axis] > 1) offset = head_of(request, name, shape[head_axis]) * strides[head_axis];
  return offset;
}

const Words& words_of(const Request& request, std::string_view name) {
  static const Words kNone;
  if (name == "q" || name == "x" || name == "d_output" || name == "keep" || name == "bias") return query_words(request);
  return name == "k" || name == "v" ? key_words(request) : kNone;
}

// Finds row and column. "a,b" may be one token or a row and a column; the token wins.
Status find_place(const Request& request, const Parts& parts, std::int64_t rows, std::int64_t columns, Edit& out) {
  const Words& words = words_of(request, parts.name);
  const std::string subject(parts.name);
  const std::size_t comma = parts.place.rfind(',');
  const bool is_token = std::find(words.en.begin(), words.en.end(), parts.place) != words.en.end() ||
                        std::find(words.pt.begin(), words.pt.end(), parts.place) != words.pt.end();
  const std::string_view row = is_token ? parts.place : trimmed(parts.place.substr(0, comma));
  QKV_ASSIGN_OR_RETURN(out.row, find_row(words, row, rows, "row of " + subject));
  if (is_token || comma == std::string_view::npos) return {};
  const std::string_view column = trimmed(parts.place.substr(comma + 1));
  if (!parse_index(column, out.column) || out.column < 0 || out.column >= columns)
    return malformed(out.text, "has column " + quote(column) + "; expected 0 … " + std::to_string(columns - 1));
  return {};
}

Status apply(Request& request, Edit& out) {
  QKV_ASSIGN_OR_RETURN(const Parts parts, split(out.text));
  const auto found = request.tensors.find(parts.name);
  if (found == request.tensors.end()) {
    std::vector<std::string> names;
    names.reserve(request.tensors.size());
    for (const auto& [name, numbers] : request.tensors) names.push_back(name);
    std::string list;
    for (const std::string& name : names) list += " " + name;
    return malformed(out.text, "names no input" + did_you_mean(parts.name, names) + " (there are" + list + ")");
  }
  Numbers& numbers = found->second;
  out.input = found->first;
  const int rank = numbers.shape.rank();
  const std::int64_t columns = rank == 1 ? 1 : numbers.shape[rank - 1];
  const std::int64_t rows = rank == 1 ? numbers.shape[0] : numbers.shape[rank - 2];
  if (rows == 0 || columns == 0) return malformed(out.text, "names an empty input");
  QKV_RETURN_IF_ERROR(find_place(request, parts, rows, columns, out));
  QKV_ASSIGN_OR_RETURN(out.after, split_values(parts.values, out.text));
  const std::int64_t expected = out.column < 0 ? columns : 1;
  if (static_cast<std::int64_t>(out.after.size()) != expected)
    return malformed(out.text, "gives " + std::to_string(out.after.size()) + " numbers; " + out.input + "[" +
                                   std::string(parts.place) + "] has " + std::to_string(expected));
  const std::int64_t first =
      offset_of_matrix(request, out.input, numbers.shape) + out.row * columns + std::max<std::int64_t>(0, out.column);
  const auto begin = numbers.values.begin() + first;
  out.before.assign(begin, begin + expected);
  std::copy(out.after.begin(), out.after.end(), begin);
  return {};
}

}  // namespace

Result<std::vector<Edit>> apply_edits(Request& request) {
  std::vector<Edit> edits;
  for (const std::string& text : request.edits) {
    Edit edit;
    edit.text = text;
    QKV_RETURN_IF_ERROR(apply(request, edit));
    edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace qkv
