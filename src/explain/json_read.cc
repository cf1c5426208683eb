// A JSON reader on nlohmann's event interface, which reports errors as values.
#include "src/explain/json_read.h"

#include <string>
#include <utility>
#include <vector>

namespace qkv {
namespace {

constexpr std::size_t kDeepest = 8;  // an object, a field, four axes of a tensor, and room to report a fifth

// Builds the value; the member functions are the events that nlohmann's parser calls, false stops it.
class Builder {
 public:
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(Json::number_integer_t value) { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return put(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // not in JSON text
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    key_ = std::move(name);
    if (!open_.back()->contains(key_)) return true;
    error_ = "the field \"" + key_ + "\" is given twice";
    return false;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...; last read: '...'; expected"
    std::string text = error.what();
    if (const std::size_t at = text.find("line "); at != std::string::npos) text.erase(0, at);
    if (const std::size_t read = text.find("; last read"); read != std::string::npos) text.erase(read);
    error_ = "the request is not JSON: " + text;
    return false;
  }

  const std::string& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  Json* place(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kDeepest) {
      error_ = "the request is nested more than " + std::to_string(kDeepest) + " deep; a tensor has at most 4 axes";
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // the containers that are not closed yet, outermost first
  std::string key_;
  std::string error_;
};

}  // namespace

Result<Json> read_json(std::string_view text) {
  Builder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  return invalid_argument("explain: " +
                          (builder.error().empty() ? std::string("the request is not JSON") : builder.error()));
}

std::string_view kind_of(const Json& value) {
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return "null";
}

}  // namespace qkv
