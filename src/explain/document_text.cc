// Writing JSON text.
#include "src/explain/document_text.h"

#include <cmath>

#include "src/explain/numbers.h"

namespace qkv {

std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json number_of(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json shape_of(const Dims& shape) {
  Json list = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) list.push_back(shape[axis]);
  return list;
}

std::string with_values(const Json& head, View<const void> values) {
  std::string text = text_of(head);
  text.back() = ',';
  text += "\"values\":";
  append_json(text, values);
  return text + "}";
}

void Lines::add(const std::string& name, const std::string& value) {
  text_ += std::string(text_.empty() ? "{" : ",") + "\n\"" + name + "\":" + value;
}

void Lines::add(const std::string& name, const Json& value) { add(name, text_of(value)); }

void Lines::add_list(const std::string& name, const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) list += std::string(list.empty() ? "[\n " : ",\n ") + entry;
  add(name, list.empty() ? std::string("[]") : list + "]");
}

}  // namespace qkv
