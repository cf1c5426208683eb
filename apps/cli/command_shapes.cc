// `qkv shapes`: the shape of every matrix, and what is wrong with one that does not fit.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/run_options.h"
#include "apps/cli/text.h"
#include "qkv/explain.h"
#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kFooter =
    "Presets: toy (5 tokens, C 4, 2 heads of 2), gpt2_small (C 768, 12 heads of 64), grouped (32 heads on 8 of 128).\n"
    "\n"
    "Examples:\n"
    "  qkv shapes --n 5 --c 4 --heads 2\n"
    "  qkv shapes --preset gpt2_small --n 10\n"
    "  qkv shapes --preset toy --found k=2,5        says which line broke and the usual mistake; exit code 1";

std::string joined(const Json& list) {
  std::string text = "[";
  for (const Json& entry : list) {
    if (text.size() > 1) text += ",";
    text += entry.is_string() ? entry.get<std::string>() : entry.dump();
  }
  return text + "]";
}

struct Size {
  const char* flag;
  const char* field;  // of the request
  const char* description;
};
constexpr Size kSizes[] = {{"--n", "n", "Tokens"},
                           {"--c", "C", "Width of the model, C"},
                           {"--heads", "heads", "Query heads"},
                           {"--kv-heads", "kv_heads", "KV heads"},
                           {"--d", "D", "Width of a head's q and k, D"},
                           {"--dv", "Dv", "Width of a head's v, Dv"},
                           {"--b", "B", "Batch, B"},
                           {"--t", "T", "Keys, T, if not n"}};

// "explain: C, the width ..., is missing" in the words of this command: "--c, the width ..., is missing".
Status with_flag(const Status& status) {
  std::string message = status.message();
  const std::string prefix = "explain: ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  const std::string field = message.substr(0, message.find_first_of(" ,"));
  std::string flag = field == "preset" || field == "found" ? "--" + field : field;
  for (const Size& size : kSizes)
    if (field == size.field) flag = size.flag;
  return {status.code(), flag + message.substr(field.size())};
}

// "W_Q" as "wq".
std::string plain(const std::string& name) {
  std::string text;
  for (char c : name)
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

using Row = std::vector<std::string>;

// The last column is prose: wrapped, or below its row where the others leave too little.
void print_rows(std::ostream& out, const std::vector<Row>& rows, int width) {
  constexpr int kLeastText = 24, kBelow = 6;
  std::vector<int> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += pad_right(row[i], widths[i]) + "  ";
    const int before = display_width(line);
    const bool below = width - before < std::min(kLeastText, widths.back());
    std::vector<std::string> text = wrapped(row.back(), width, below ? kBelow : before);
    if (below)
      text.insert(text.begin(), line.substr(0, line.find_last_not_of(' ') + 1));
    else
      text.front().replace(0, static_cast<std::size_t>(before), line);
    for (const std::string& each : text) out << each << '\n';
  }
}

class ShapesCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("shapes", "Show the shape of every matrix of an attention layer");
    app->add_option("--preset", preset_, "Sizes to start from")->type_name("toy|gpt2_small|grouped");
    sizes_.resize(std::size(kSizes));
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      app->add_option(kSizes[i].flag, sizes_[i], kSizes[i].description)->type_name("N");
    app->add_option("--found", found_, "A shape that you have: k=5,2 (may be repeated)")->type_name("NAME=SHAPE");
    app->add_option("--lang", language_, "Language of the words")->type_name("en|pt");
    app->add_flag("--json", json_, "Print the document that the explorer reads");
    app->footer(kFooter);
    return app;
  }

  Result<int> run(Console& console) override {
    if (language_ != "en" && language_ != "pt")
      return invalid_argument("--lang '" + language_ + "' is unknown; expected en or pt");
    Json request = sizes_request();
    QKV_ASSIGN_OR_RETURN(std::string text, answer(request));
    if (!found_.empty()) {
      QKV_RETURN_IF_ERROR(add_found(Json::parse(text)["lines"], request));
      QKV_ASSIGN_OR_RETURN(text, answer(request));
    }
    const Json document = Json::parse(text);
    if (json_)
      console.out << text << '\n';
    else
      print(document, console.out, std::max(console.width, kNarrowest));
    return document["broken"].is_null() ? kDone : kWrong;
  }

 private:
  static Result<std::string> answer(const Json& request) {
    Result<std::string> text = explain(request.dump());
    return text.is_ok() ? std::move(text) : with_flag(text.status());
  }

  Json sizes_request() const {
    Json request = {{"op", "shapes"}};
    if (!preset_.empty()) request["preset"] = preset_;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i]) request[kSizes[i].field] = *sizes_[i];
    return request;
  }

  // The name of the line that `found` calls by its name or its symbol, in either case.
  static Result<std::string> line_name(const Json& lines, const std::string& name) {
    std::vector<std::string> names;
    for (const Json& line : lines) {
      names.push_back(line["name"].get<std::string>());
      if (plain(name) == names.back() || name == line["symbol"].get<std::string>()) return names.back();
    }
    std::string known;
    for (const std::string& candidate : names) known += (known.empty() ? "" : " ") + candidate;
    return invalid_argument("--found: there is no line " + quote(name) + "; expected one of: " + known);
  }

  Status add_found(const Json& lines, Json& request) const {
    for (const std::string& found : found_) {
      const std::size_t equals = found.find('=');
      const auto shape = equals == std::string::npos ? std::nullopt : parse_numbers(found.substr(equals + 1));
      if (!shape) return invalid_argument("--found '" + found + "' is not NAME=SHAPE; for example k=5,2");
      QKV_ASSIGN_OR_RETURN(const std::string name, line_name(lines, found.substr(0, equals)));
      request["found"][name] = Json::array();
      for (double extent : *shape) request["found"][name].push_back(std::int64_t(extent));
    }
    return {};
  }

  void print(const Json& document, std::ostream& out, int width) const {
    const Json& sizes = document["sizes"];
    const bool one_head = sizes["B"] == 1 && sizes["heads"] == 1;
    std::vector<Row> rows;
    for (const Json& line : document["lines"]) {
      const std::string mark = line["ok"].get<bool>() ? "  " : "! ";
      Row row{mark + line["symbol"].get<std::string>(), joined(line["dims"]), joined(line["shape"])};
      if (!one_head) row.push_back(joined(line["full_shape"]));
      row.push_back(line["meaning"][language_]);
      rows.push_back(std::move(row));
    }
    if (!one_head)
      out << (language_ == "pt" ? "de uma cabeça, e com todas na memória\n" : "of one head, and with all in memory\n");
    print_rows(out, rows, width);
    const Json& broken = document["broken"];
    if (broken.is_null()) return;
    const bool pt = language_ == "pt";
    out << '\n'
        << broken["line"].get<std::string>() << (pt ? ": esperado " : ": expected ")
        << broken["expected"].get<std::string>() << (pt ? ", encontrado " : ", found ")
        << broken["found"].get<std::string>() << '\n';
    for (const std::string& line : wrapped(broken["mistake"][language_].get<std::string>(), width, 0))
      out << line << '\n';
  }

  std::string preset_, language_ = "en";
  std::vector<std::optional<std::int64_t>> sizes_;
  std::vector<std::string> found_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_shapes_command() { return std::make_unique<ShapesCommand>(); }

}  // namespace qkv::cli
