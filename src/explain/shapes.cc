// The shape table.
#include "src/explain/shapes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "qkv/version.h"
#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/explain/fields.h"
#include "src/explain/shape_words.h"

namespace qkv {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000;  // of a size; the product of two still fits 63 bits

struct Sizes {
  std::int64_t n = 0, C = 0, heads = 1, kv_heads = 0, D = 0, Dv = 0, B = 1, T = 0;  // 0: follows from the others
};

struct Preset {
  std::string_view name;
  Sizes sizes;
};

constexpr Preset kPresets[] = {
    {"toy", {5, 4, 2, 0, 2, 0, 1, 0}},                // the lesson's running example
    {"gpt2_small", {1024, 768, 12, 0, 64, 0, 1, 0}},  // Radford et al. 2019
    {"grouped", {8192, 4096, 32, 8, 128, 0, 1, 0}},   // Llama 3 8B: four query heads share a KV head
};

using Letters = std::vector<std::string>;

// A line: its shape for one head, as lessons draw it, and with all heads and batch entries, as it lies in memory.
struct Line {
  std::string name, symbol;
  Letters letters, full_letters;
};

const std::vector<Line>& table() {
  static const std::vector<Line> lines = {
      {"x", "X", {"n", "C"}, {"B", "n", "C"}},
      {"wq", "W_Q", {"C", "D"}, {"C", "heads·D"}},
      {"wk", "W_K", {"C", "D"}, {"C", "kv_heads·D"}},
      {"wv", "W_V", {"C", "Dv"}, {"C", "kv_heads·Dv"}},
      {"q", "Q", {"n", "D"}, {"B", "heads", "n", "D"}},
      {"k", "K", {"T", "D"}, {"B", "kv_heads", "T", "D"}},
      {"v", "V", {"T", "Dv"}, {"B", "kv_heads", "T", "Dv"}},
      {"s", "S", {"n", "T"}, {"B", "heads", "n", "T"}},
      {"a", "A", {"n", "T"}, {"B", "heads", "n", "T"}},
      {"o", "O", {"n", "Dv"}, {"B", "heads", "n", "Dv"}},
      {"merged", "[O₁ … O_H]", {"n", "heads·Dv"}, {"B", "n", "heads·Dv"}},
  };
  return lines;
}

std::int64_t value_of(const Sizes& sizes, const std::string& letter) {
  if (const std::size_t dot = letter.find("·"); dot != std::string::npos)
    return value_of(sizes, letter.substr(0, dot)) * value_of(sizes, letter.substr(dot + std::string("·").size()));
  const std::pair<const char*, std::int64_t> values[] = {
      {"n", sizes.n}, {"C", sizes.C},   {"heads", sizes.heads}, {"kv_heads", sizes.kv_heads},
      {"D", sizes.D}, {"Dv", sizes.Dv}, {"B", sizes.B},         {"T", sizes.T}};
  for (const auto& [name, value] : values)
    if (letter == name) return value;
  return 0;
}

using Shape = std::vector<std::int64_t>;

Shape shape_of(const Sizes& sizes, const Letters& letters) {
  Shape shape;
  for (const std::string& letter : letters) shape.push_back(value_of(sizes, letter));
  return shape;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::int64_t extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

// A line that does not fit.
struct Broken {
  std::string line, expected, found;
  ShapeFault fault = ShapeFault::kRank;
};

ShapeFault fault_of(const Shape& expected, const Shape& found) {
  if (expected.size() != found.size()) return ShapeFault::kRank;
  if (found != expected && Shape(found.rbegin(), found.rend()) == expected) return ShapeFault::kTransposed;
  return found.back() != expected.back() ? ShapeFault::kColumns : ShapeFault::kRows;
}

std::string sizes_text(std::string_view name, std::int64_t value) {
  return std::string(name) + " = " + std::to_string(value);
}

// What the sizes themselves contradict, before any line is looked at.
std::optional<Broken> broken_sizes(const Sizes& given) {
  if (given.D == 0 && given.C % given.heads != 0)
    return Broken{"wq", "C to be a multiple of heads",
                  sizes_text("C", given.C) + ", " + sizes_text("heads", given.heads), ShapeFault::kIndivisible};
  if (given.kv_heads != 0 && given.heads % given.kv_heads != 0)
    return Broken{"k", "heads to be a multiple of kv_heads",
                  sizes_text("heads", given.heads) + ", " + sizes_text("kv_heads", given.kv_heads), ShapeFault::kHeads};
  return std::nullopt;
}

Result<std::optional<Broken>> broken_line(const Sizes& sizes, const Fields& found) {
  for (const Line& line : table()) {
    if (!found.has(line.name)) continue;
    Shape shape;
    QKV_RETURN_IF_ERROR(found.read(line.name, shape));
    const Shape one = shape_of(sizes, line.letters);
    const Shape full = shape_of(sizes, line.full_letters);
    if (shape == one || shape == full) continue;
    const Shape& expected = shape.size() == full.size() && full.size() != one.size() ? full : one;
    return std::optional<Broken>(Broken{line.name, text_of(expected), text_of(shape), fault_of(expected, shape)});
  }
  return std::optional<Broken>();
}

Sizes completed(Sizes sizes) {
  if (sizes.kv_heads == 0) sizes.kv_heads = sizes.heads;
  if (sizes.D == 0) sizes.D = std::max<std::int64_t>(1, sizes.C / sizes.heads);
  if (sizes.Dv == 0) sizes.Dv = sizes.D;
  if (sizes.T == 0) sizes.T = sizes.n;
  return sizes;
}

Result<Sizes> read_sizes(const Fields& fields) {
  Sizes sizes;
  std::string preset = fields.has("n") || fields.has("C") || fields.has("heads") || fields.has("D") ? "" : "toy";
  QKV_RETURN_IF_ERROR(fields.read("preset", preset));
  std::vector<std::string> names;
  bool found = preset.empty();
  for (const Preset& candidate : kPresets) {
    names.emplace_back(candidate.name);
    if (candidate.name != preset) continue;
    sizes = candidate.sizes;
    found = true;
  }
  if (!found)
    return wrong_kind("preset", Json(preset), "\"toy\", \"gpt2_small\" or \"grouped\"" + did_you_mean(preset, names));
  if (fields.has("preset") && (fields.has("C") || fields.has("heads")) && !fields.has("D")) sizes.D = 0;
  for (const auto& [name, size] : {std::pair("n", &sizes.n), std::pair("C", &sizes.C), std::pair("heads", &sizes.heads),
                                   std::pair("kv_heads", &sizes.kv_heads), std::pair("D", &sizes.D),
                                   std::pair("Dv", &sizes.Dv), std::pair("B", &sizes.B), std::pair("T", &sizes.T)}) {
    QKV_RETURN_IF_ERROR(fields.read(name, *size, 1));
    if (*size > kLargest) return wrong_kind(name, fields[name], "at most " + std::to_string(kLargest));
  }
  if (sizes.n == 0) sizes.n = sizes.T;
  if (sizes.n == 0) return invalid_argument("explain: n, the number of tokens, is missing");
  if (sizes.C == 0) sizes.C = sizes.heads * sizes.D;
  if (sizes.C == 0) return invalid_argument("explain: C, the width of the model, is missing");
  return sizes;
}

Json both(const Bilingual& text) { return {{"en", text.en}, {"pt", text.pt}}; }

Json line_of(const Line& line, const Sizes& sizes, const std::optional<Broken>& broken) {
  return {{"name", line.name},
          {"symbol", line.symbol},
          {"dims", line.letters},
          {"shape", shape_of(sizes, line.letters)},
          {"full_dims", line.full_letters},
          {"full_shape", shape_of(sizes, line.full_letters)},
          {"meaning", both(meaning_of_line(line.name))},
          {"ok", !broken || broken->line != line.name}};
}

}  // namespace

Result<std::string> explain_shapes(const Json& request) {
  const Fields fields(request);
  QKV_RETURN_IF_ERROR(
      fields.check_known({"op", "preset", "n", "C", "heads", "kv_heads", "D", "Dv", "B", "T", "found"}));
  QKV_ASSIGN_OR_RETURN(const Sizes given, read_sizes(fields));
  const Sizes sizes = completed(given);
  std::optional<Broken> broken = broken_sizes(given);
  if (fields.has("found")) {
    if (!fields["found"].is_object()) return wrong_kind("found", fields["found"], "an object like {\"k\": [5,2]}");
    const Fields found(fields["found"]);
    std::vector<std::string> names;
    for (const Line& line : table()) names.push_back(line.name);
    QKV_RETURN_IF_ERROR(found.check_known(names));
    QKV_ASSIGN_OR_RETURN(const std::optional<Broken> line, broken_line(sizes, found));
    if (!broken) broken = line;
  }
  Json document = {{"qkv", QKV_VERSION}, {"version", 1}, {"kind", "shapes"}};
  for (const char* name : {"n", "C", "heads", "kv_heads", "D", "Dv", "B", "T"})
    document["sizes"][name] = value_of(sizes, name);
  for (const Line& line : table()) document["lines"].push_back(line_of(line, sizes, broken));
  document["broken"] = nullptr;
  if (broken)
    document["broken"] = {{"line", broken->line},
                          {"expected", broken->expected},
                          {"found", broken->found},
                          {"mistake", both(usual_mistake(broken->line, broken->fault))}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace qkv
