// Lists of strings by nlohmann's event parser: no exceptions, no document in memory, no depth.
#include "src/io/json_strings.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace qkv {
namespace {

// Takes '[' strings ']' and stops at anything else.
class ListEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<std::string> strings;

  bool string(string_t& value) override {
    if (is_open_) strings.push_back(std::move(value));
    return is_open_;
  }
  bool start_array(std::size_t) override { return !std::exchange(is_open_, true); }
  bool end_array() override { return true; }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return false; }
  bool key(string_t&) override { return false; }
  bool end_object() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  bool is_open_ = false;
};

}  // namespace

Result<std::vector<std::string>> parse_json_strings(std::string_view text) {
  ListEvents events;
  // The JSON parser takes NUL for the end of the text and would not look behind it.
  const bool is_list =
      text.find('\0') == std::string_view::npos && nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  if (!is_list) return corrupt_file("expected a JSON list of strings");
  return std::move(events.strings);
}

std::string format_json_strings(const std::vector<std::string>& strings) {
  return nlohmann::json(strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace qkv
