// Matching shapes with their letters.
#include "src/core/shape_table.h"

namespace qkv {

std::string letters_to_string(const std::vector<std::string>& letters) {
  std::string text = "[";
  for (const std::string& letter : letters) {
    if (text.size() > 1) text += ",";
    text += letter;
  }
  return text + "]";
}

void ShapeTable::define(std::string_view letter, std::int64_t value, std::string_view source) {
  bindings_.push_back({std::string(letter), value, std::string(source)});
}

const ShapeTable::Binding* ShapeTable::find(std::string_view letter) const {
  for (const Binding& binding : bindings_)
    if (binding.letter == letter) return &binding;
  return nullptr;
}

bool ShapeTable::evaluate(std::string_view expression, std::int64_t& value, std::string& source) const {
  const std::size_t star = expression.find('*');
  const Binding* first = find(expression.substr(0, star));
  if (first == nullptr) return false;
  value = first->value;
  source = first->source;
  if (star == std::string_view::npos) return true;
  std::int64_t rest = 0;
  std::string rest_source;
  if (!evaluate(expression.substr(star + 1), rest, rest_source)) return false;
  value *= rest;
  if (rest_source != source) source += " and " + rest_source;
  return true;
}

Status ShapeTable::match(std::string_view tensor, const std::vector<std::string>& letters, const Dims& shape) {
  const std::string found = std::string(tensor) + " " + to_string(shape);
  if (shape.rank() != static_cast<int>(letters.size()))
    return shape_mismatch(message(std::string(tensor) + " " + letters_to_string(letters) + " needs " +
                                  std::to_string(letters.size()) + " axes, found " + std::to_string(shape.rank()) +
                                  ": " + to_string(shape)));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::string& letter = letters[static_cast<std::size_t>(axis)];
    std::int64_t expected = 0;
    std::string source;
    if (shape[axis] < 0) return shape_mismatch(message(found + " has a negative extent"));
    if (!evaluate(letter, expected, source)) {
      define(letter, shape[axis], found);
      continue;
    }
    if (expected != shape[axis])
      return shape_mismatch(message(std::string(tensor) + " " + letters_to_string(letters) + " is " + to_string(shape) +
                                    ", but " + letter + " is " + std::to_string(expected) + " by " + source));
  }
  seen_.push_back(found);
  return {};
}

std::int64_t ShapeTable::operator[](std::string_view letter) const {
  const Binding* binding = find(letter);
  return binding == nullptr ? -1 : binding->value;
}

std::string ShapeTable::message(std::string_view text) const {
  std::string out = operation_ + ": " + std::string(text);
  for (std::size_t i = 0; i < seen_.size(); ++i) out += (i == 0 ? " (" : ", ") + seen_[i];
  return seen_.empty() ? out : out + ")";
}

}  // namespace qkv
