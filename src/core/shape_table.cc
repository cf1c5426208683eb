// Matching shapes with their letters.
#include "src/core/shape_table.h"

namespace qkv {

std::string letters_to_string(ShapeTable::Letters letters) {
  std::string text = "[";
  for (const std::string_view letter : letters) {
    if (text.size() > 1) text += ",";
    text += letter;
  }
  return text + "]";
}

ShapeTable::Named ShapeTable::named(std::string_view name, const Dims& shape) {
  Named tensor;
  tensor.name = name.data();
  tensor.length = name.size();
  tensor.rank = shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) tensor.extents[axis] = shape[axis];
  return tensor;
}

std::string ShapeTable::text_of(const Named& tensor) {
  Dims shape;
  for (int axis = 0; axis < tensor.rank; ++axis) shape.push_back(tensor.extents[axis]);
  const std::string name(tensor.name, tensor.length);
  return tensor.rank == 0 ? name : name + " " + to_string(shape);
}

void ShapeTable::bind(std::string_view letter, std::int64_t value, std::string_view source, const Dims& shape) {
  if (binding_count_ == kMost) return;
  Binding& binding = bindings_[binding_count_++];
  binding.letter = letter.data();
  binding.length = letter.size();
  binding.value = value;
  binding.source = named(source, shape);
}

const ShapeTable::Binding* ShapeTable::find(std::string_view letter) const {
  for (int i = 0; i < binding_count_; ++i)
    if (std::string_view(bindings_[i].letter, bindings_[i].length) == letter) return &bindings_[i];
  return nullptr;
}

bool ShapeTable::evaluate(std::string_view expression, std::int64_t& value) const {
  const std::size_t star = expression.find('*');
  const Binding* first = find(expression.substr(0, star));
  if (first == nullptr) return false;
  value = first->value;
  if (star == std::string_view::npos) return true;
  std::int64_t rest = 0;
  if (!evaluate(expression.substr(star + 1), rest)) return false;
  value *= rest;
  return true;
}

std::string ShapeTable::sources_of(std::string_view expression) const {
  const std::size_t star = expression.find('*');
  const Binding* first = find(expression.substr(0, star));
  std::string text = first == nullptr ? std::string() : text_of(first->source);
  if (star == std::string_view::npos) return text;
  const std::string rest = sources_of(expression.substr(star + 1));
  return rest == text ? text : text + " and " + rest;
}

Status ShapeTable::match(std::string_view tensor, Letters letters, const Dims& shape) {
  if (shape.rank() != static_cast<int>(letters.size()))
    return shape_mismatch(message(std::string(tensor) + " " + letters_to_string(letters) + " needs " +
                                  std::to_string(letters.size()) + " axes, found " + std::to_string(shape.rank()) +
                                  ": " + to_string(shape)));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::string_view letter = letters.begin()[axis];
    std::int64_t expected = 0;
    if (shape[axis] < 0)
      return shape_mismatch(message(std::string(tensor) + " " + to_string(shape) + " has a negative extent"));
    if (!evaluate(letter, expected))
      bind(letter, shape[axis], tensor, shape);
    else if (expected != shape[axis])
      return shape_mismatch(message(std::string(tensor) + " " + letters_to_string(letters) + " is " + to_string(shape) +
                                    ", but " + std::string(letter) + " is " + std::to_string(expected) + " by " +
                                    sources_of(letter)));
  }
  if (seen_count_ < kMost) seen_[seen_count_++] = named(tensor, shape);
  return {};
}

std::int64_t ShapeTable::operator[](std::string_view letter) const {
  const Binding* binding = find(letter);
  return binding == nullptr ? -1 : binding->value;
}

std::string ShapeTable::message(std::string_view text) const {
  std::string out = std::string(operation_) + ": " + std::string(text);
  for (int i = 0; i < seen_count_; ++i) out += (i == 0 ? " (" : ", ") + text_of(seen_[i]);
  return seen_count_ == 0 ? out : out + ")";
}

}  // namespace qkv
