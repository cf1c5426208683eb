// Reads the line of a Problem word by word and names the first word that is wrong.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>

#include "qkv/problem.h"
#include "src/core/problem_check.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

// A word cut at its '=' or, for B H T D C, after the letter.
struct Word {
  std::string_view text;
  std::string_view key;
  std::string_view value;
  bool has_value = false;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Word cut(std::string_view text) {
  const bool size = std::string_view("BHTDC").find(text[0]) != std::string_view::npos;
  if (size && (text.size() == 1 || !is_letter(text[1]))) return {text, text.substr(0, 1), text.substr(1), true};
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, text, {}, false};
  return {text, text.substr(0, equals), text.substr(equals + 1), true};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

template <class Integer>
bool read_integer(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_count(std::string_view text, std::int64_t& value) { return read_integer(text, value) && value >= 0; }

bool read_real(std::string_view text, double& value) {
  if (text.empty() || is_letter(text[0]) || is_space(text[0])) return false;  // no inf, no nan
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
#else  // libc++ reads no floating point in from_chars yet
  const std::string copy(text);
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() + copy.size() && std::isfinite(value);
#endif
}

bool read_list(std::string_view text, std::vector<std::int64_t>& values) {
  for (std::string_view part : split(text, ','))
    if (!read_count(part, values.emplace_back())) return false;
  return true;
}

// "6/2" or "6", which means both.
bool read_pair(std::string_view text, char separator, std::int64_t& first, std::int64_t& second) {
  const std::size_t at = text.find(separator);
  if (!read_count(text.substr(0, at), first)) return false;
  second = first;
  return at == std::string_view::npos || read_count(text.substr(at + 1), second);
}

bool read_dims(std::string_view text, std::optional<Dims>& dims) {
  const std::vector<std::string_view> parts = split(text, 'x');
  if (parts.size() > kMaxRank) return false;
  dims.emplace();
  for (std::string_view part : parts) {
    std::int64_t extent = 0;
    if (!read_count(part, extent)) return false;
    dims->push_back(extent);
  }
  return true;
}

bool read_corner(std::string_view text, Problem& problem) {
  constexpr std::string_view kOffset = "offset:";
  for (Corner corner : {Corner::kTopLeft, Corner::kBottomRight})
    if (text == to_string(corner)) {
      problem.corner = corner;
      return true;
    }
  problem.corner = Corner::kOffset;
  return text.starts_with(kOffset) && read_integer(text.substr(kOffset.size()), problem.offset);
}

bool read_window(std::string_view text, Window& window) {
  const std::vector<std::string_view> sides = split(text, ',');
  return sides.size() == 2 && read_integer(sides[0], window.left) && read_integer(sides[1], window.right) &&
         window.left >= -1 && window.right >= -1;
}

bool read_flag(const Word& word, bool& flag) {
  flag = true;
  return !word.has_value;
}

bool read_dtype(const Word& word, Problem& problem) {
  const Result<DType> dtype = parse_dtype(word.key);
  if (dtype.is_ok()) problem.dtype = *dtype;
  return dtype.is_ok() && !word.has_value;
}

// Which operations a word belongs to.
enum Belongs : unsigned { kAttention = 1, kDecode = 2, kLayer = 4, kLayerNorm = 8, kHeads = 7, kAll = 15 };

unsigned bit_of(Operation operation) { return 1U << static_cast<unsigned>(operation); }

// How one word is read. Words of one `slot` exclude each other.
struct Rule {
  std::string_view key;
  unsigned belongs;
  std::string_view slot;
  std::string_view form;  // shown where a word is malformed
  bool (*read)(const Word& word, Problem& problem);
};

constexpr std::string_view kCornerForm = "CORNER = top_left, bottom_right or offset:N";
const Rule kRules[] = {
    {"B", kAll, "B", "B2 (batch)", [](const Word& w, Problem& p) { return read_count(w.value, p.batch); }},
    {"H", kHeads, "H", "H6/2 (query heads / KV heads) or H6",
     [](const Word& w, Problem& p) { return read_pair(w.value, '/', p.query_heads, p.kv_heads); }},
    {"T", kAll, "T", "T3x5 (query length x key length) or T5",
     [](const Word& w, Problem& p) { return read_pair(w.value, 'x', p.query_length, p.key_length); }},
    {"D", kHeads, "D", "D7/11 (width of q and k / width of v) or D7",
     [](const Word& w, Problem& p) { return read_pair(w.value, '/', p.width, p.value_width); }},
    {"C", kLayer | kLayerNorm, "C", "C20/11 (width of x / width of y) or C20",
     [](const Word& w, Problem& p) {
       const std::size_t at = w.value.find('/');
       return read_count(w.value.substr(0, at), p.layer.channels) &&
              (at == std::string_view::npos ||
               (read_count(w.value.substr(at + 1), p.layer.out_channels) && p.layer.out_channels > 0));
     }},
    {"norm", kLayer, "norm", "norm", [](const Word& w, Problem& p) { return read_flag(w, p.layer.norm); }},
    {"fused", kLayer, "fused", "fused", [](const Word& w, Problem& p) { return read_flag(w, p.layer.fused); }},
    {"biases", kLayer, "biases", "biases", [](const Word& w, Problem& p) { return read_flag(w, p.layer.biases); }},
    {"eps", kLayer | kLayerNorm, "eps", "eps=1e-5, a finite number from 0",
     [](const Word& w, Problem& p) { return read_real(w.value, p.layer.eps.emplace()) && *p.layer.eps >= 0; }},
    {"spread", kLayer | kLayerNorm, "spread", "spread=0.003, a finite number above 0",
     [](const Word& w, Problem& p) { return read_real(w.value, p.layer.spread) && p.layer.spread > 0; }},
    {"shift", kLayer | kLayerNorm, "shift", "shift=1000, a finite number",
     [](const Word& w, Problem& p) { return read_real(w.value, p.layer.shift); }},
    {"causal", kAttention | kLayer, "causal", "causal or causal=CORNER, CORNER = top_left, bottom_right or offset:N",
     [](const Word& w, Problem& p) {
       p.causality = Causality::kCausal;
       return !w.has_value || read_corner(w.value, p);
     }},
    {"corner", kAttention | kLayer, "corner", kCornerForm,
     [](const Word& w, Problem& p) { return read_corner(w.value, p); }},
    {"window", kHeads, "window", "window=2,0 (left and right, -1 = open)",
     [](const Word& w, Problem& p) { return read_window(w.value, p.window); }},
    {"keep", kHeads, "keep", "keep=2x1x3x5, one to four extents",
     [](const Word& w, Problem& p) { return read_dims(w.value, p.keep); }},
    {"key_mask", kHeads, "key_mask", "key_mask", [](const Word& w, Problem& p) { return read_flag(w, p.key_mask); }},
    {"bias", kHeads, "bias", "bias=6x3x5, one to four extents",
     [](const Word& w, Problem& p) { return read_dims(w.value, p.bias); }},
    {"lengths", kHeads, "lengths", "lengths=3,5, one a batch",
     [](const Word& w, Problem& p) { return read_list(w.value, p.key_lengths); }},
    {"cu_q", kAttention, "cu_q", "cu_q=0,2,3",
     [](const Word& w, Problem& p) { return read_list(w.value, p.cu_seqlens_q); }},
    {"cu_k", kAttention, "cu_k", "cu_k=0,2,5",
     [](const Word& w, Problem& p) { return read_list(w.value, p.cu_seqlens_k); }},
    {"slopes", kHeads, "slopes", "slopes", [](const Word& w, Problem& p) { return read_flag(w, p.slopes); }},
    {"sinks", kHeads, "sinks", "sinks", [](const Word& w, Problem& p) { return read_flag(w, p.sinks); }},
    {"scale", kHeads, "scale", "scale=0.5, a finite number",
     [](const Word& w, Problem& p) { return read_real(w.value, p.scale.emplace()); }},
    {"softcap", kHeads, "softcap", "softcap=30, a finite number above 0",
     [](const Word& w, Problem& p) { return read_real(w.value, p.softcap.emplace()) && *p.softcap > 0; }},
    {"f64", kAll, "type", "f64", read_dtype},
    {"f32", kAll, "type", "f32", read_dtype},
    {"bf16", kAll, "type", "bf16", read_dtype},
    {"f16", kAll, "type", "f16", read_dtype},
    {"out", kAttention | kDecode, "out", "out=f32",
     [](const Word& w, Problem& p) {
       p.out_dtype = DType::kF32;
       return w.value == "f32";
     }},
    {"bhtd", kAttention | kDecode, "layout", "bhtd", [](const Word& w, Problem&) { return !w.has_value; }},
    {"bthd", kAttention | kDecode, "layout", "bthd",
     [](const Word& w, Problem& p) {
       p.layout = Layout::kBTHD;
       return !w.has_value;
     }},
    {"lse", kAttention | kDecode, "lse", "lse", [](const Word& w, Problem& p) { return read_flag(w, p.lse); }},
    {"backward", kAttention | kLayer | kLayerNorm, "backward", "backward",
     [](const Word& w, Problem& p) { return read_flag(w, p.backward); }},
    {"dlse", kAttention, "dlse", "dlse", [](const Word& w, Problem& p) { return read_flag(w, p.dlse); }},
    {"seed", kAll, "seed", "seed=7, 0 to 2^64-1",
     [](const Word& w, Problem& p) { return read_integer(w.value, p.seed); }},
};

// Insertions, deletions and replacements that lead from a to b (Levenshtein, one row at a time).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…'" : "'");
}

Status problem_error(const std::string& text) { return invalid_argument("problem: " + text); }

Status unknown_word(const Word& word, Operation operation) {
  constexpr std::size_t kLongestTypo = 2;
  constexpr std::size_t kLongestKey = 12;  // beyond that no key is near, and the distance would cost quadratic time
  std::string_view nearest;
  std::size_t least = kLongestTypo + 1;
  std::string known;
  for (const Rule& rule : kRules) {
    if ((rule.belongs & bit_of(operation)) == 0) continue;
    known += (known.empty() ? "" : " ") + std::string(rule.key);
    if (word.key.size() > kLongestKey) continue;
    const std::size_t distance = edit_distance(word.key, rule.key);
    if (distance < least && distance < rule.key.size()) {
      least = distance;
      nearest = rule.key;
    }
  }
  const std::string hint = nearest.empty() ? "the words are: " + known : "did you mean '" + std::string(nearest) + "'?";
  return problem_error("unknown word " + quoted(word.text) + "; " + hint);
}

// Reads words one by one and remembers which slots are taken.
class Reader {
 public:
  explicit Reader(Operation operation) {
    problem_.operation = operation;
    if (operation == Operation::kDecode) {
      problem_.causality = Causality::kCausal;
      problem_.corner = Corner::kBottomRight;
    }
    problem_.layer.norm = operation == Operation::kLayerNorm;
  }

  Status read(std::string_view text) {
    const Word word = cut(text);
    const Rule* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                    [&](const Rule& candidate) { return candidate.key == word.key; });
    if (rule == std::end(kRules)) return unknown_word(word, problem_.operation);
    if ((rule->belongs & bit_of(problem_.operation)) == 0)
      return problem_error(quoted(text) + " is no word of " + std::string(to_string(problem_.operation)));
    if (std::string_view earlier = taken(rule->slot); !earlier.empty())
      return problem_error(quoted(text) + " and " + quoted(earlier) + " say the same thing twice; keep one");
    seen_.push_back({rule->slot, text});
    if (!rule->read(word, problem_))
      return problem_error(quoted(text) + " is malformed; expected " + std::string(rule->form));
    return {};
  }

  Result<Problem> finish() {
    if (const std::string_view corner = taken("corner"); !corner.empty() && !taken("causal").empty())
      return problem_error(quoted(corner) + " beside " + quoted(taken("causal")) +
                           "; the corner belongs to causal: causal=CORNER");
    QKV_RETURN_IF_ERROR(check_problem(problem_));
    return std::move(problem_);
  }

 private:
  struct Seen {
    std::string_view slot, text;
  };
  std::string_view taken(std::string_view slot) const {  // the word that took it, or nothing
    for (const Seen& seen : seen_)
      if (seen.slot == slot) return seen.text;
    return {};
  }

  Problem problem_;
  std::vector<Seen> seen_;
};

// Takes the next word off the front of `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  const auto end = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_space) - text.begin());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

Result<Problem> parse(std::string_view text, std::span<const Operation> operations) {
  const std::string_view first = next_word(text);
  const auto operation =
      std::ranges::find_if(operations, [&](Operation candidate) { return first == to_string(candidate); });
  if (operation == operations.end()) {
    std::string expected;
    for (const Operation candidate : operations)
      expected += (expected.empty() ? "'" : ", '") + std::string(to_string(candidate)) + "'";
    return problem_error("expected " + expected + " first, found " + (first.empty() ? "nothing" : quoted(first)));
  }
  Reader reader(*operation);
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text))
    QKV_RETURN_IF_ERROR(reader.read(word));
  return reader.finish();
}

}  // namespace

Result<Problem> parse_problem(std::string_view text) {
  constexpr Operation kOnly[] = {Operation::kAttention};
  return parse(text, kOnly);
}

Result<Problem> parse_any_problem(std::string_view text) {
  constexpr Operation kAny[] = {Operation::kAttention, Operation::kDecode, Operation::kLayer, Operation::kLayerNorm};
  return parse(text, kAny);
}

}  // namespace qkv
