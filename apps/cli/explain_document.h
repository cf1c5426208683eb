// A document of explain, read: the only source of what the pages of `qkv explain` show.
#ifndef QKV_APPS_CLI_EXPLAIN_DOCUMENT_H_
#define QKV_APPS_CLI_EXPLAIN_DOCUMENT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"

namespace qkv::cli {

using Json = nlohmann::ordered_json;

enum class Language { kEnglish, kPortuguese };

// A matrix of a stage: one head, or the whole of a stage without heads.
struct Matrix {
  std::string symbol;   // "A"
  std::string formula;  // "softmax(S)", "" for what is given
  std::vector<std::vector<double>> values;
  std::size_t rows() const { return values.size(); }
  std::size_t columns() const { return values.empty() ? 0 : values[0].size(); }
};

class ExplainDocument {
 public:
  // Errors: kInvalidArgument if it is not a document of explain.
  static Result<ExplainDocument> parse(const std::string& text, Language language);

  const Json& json() const { return json_; }
  Language language() const { return language_; }
  bool is_layer() const { return json_["kind"] == "layer"; }
  std::string example() const { return json_.value("example", ""); }
  std::int64_t dim(const char* letter) const { return json_["dims"].value(letter, std::int64_t{0}); }
  std::int64_t row() const { return json_["select"]["row"]; }
  std::int64_t head() const { return json_["select"]["head"]; }
  bool has_tokens() const { return json_.contains("tokens"); }
  bool head_given() const { return json_["select"]["head_given"]; }
  std::int64_t kv_head_of(std::int64_t head) const;

  const Json* stage(std::string_view name) const;  // null if there is none
  // The matrix of a stage: of `head` (a KV head for k and v) where it has heads. Rank 1 is one row.
  Matrix matrix(std::string_view name, std::int64_t head = 0) const;
  // The central differences of a gradient, in the same shape; no rows if there are none.
  Matrix differences(std::string_view gradient, std::int64_t head = 0) const;

  // Names of query rows and key rows fit for a terminal, without and with their index; the index alone without tokens.
  const std::vector<std::string>& query_names() const { return query_names_; }
  const std::vector<std::string>& key_names() const { return key_names_; }
  const std::vector<std::string>& value_names() const { return value_names_; }

 private:
  std::vector<std::string> names(const char* field, std::int64_t count) const;
  Json json_;
  Language language_ = Language::kEnglish;
  std::vector<std::string> query_names_, key_names_, value_names_;
};

// A number of the document: a JSON number or one of the texts "NaN" "Infinity" "-Infinity".
double number_of(const Json& value);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_DOCUMENT_H_
