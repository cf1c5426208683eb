// Matches tensors with the lines of a shape table ("k [B,Hkv,Tk,D]") and says which line broke.
#ifndef QKV_SRC_CORE_SHAPE_TABLE_H_
#define QKV_SRC_CORE_SHAPE_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

class ShapeTable {
 public:
  explicit ShapeTable(std::string_view operation) : operation_(operation) {}

  // Gives `letter` a value, as if a tensor called `source` had bound it.
  void define(std::string_view letter, std::int64_t value, std::string_view source);

  // The first tensor with a letter binds it, later ones must agree. A letter may be a product, "Hq*D", of bound
  // letters. Errors: kShapeMismatch: `attention: k [B,Hkv,Tk,D] is [2,2,5,8], but D is 7 in q [2,6,3,7]`.
  Status match(std::string_view tensor, const std::vector<std::string>& letters, const Dims& shape);

  // Constraint: the letter is bound.
  std::int64_t operator[](std::string_view letter) const;

  // "attention: " + text + " (q [2,8,128,64], k [2,3,512,64])", the tensors matched so far.
  std::string message(std::string_view text) const;

 private:
  struct Binding {
    std::string letter;
    std::int64_t value;
    std::string source;
  };
  const Binding* find(std::string_view letter) const;
  // The value of a letter or of a product of letters; false while a factor is not bound.
  bool evaluate(std::string_view expression, std::int64_t& value, std::string& source) const;

  std::string operation_;
  std::vector<Binding> bindings_;
  std::vector<std::string> seen_;  // "q [2,8,128,64]"
};

// "[B,Hkv,Tk,D]"
std::string letters_to_string(const std::vector<std::string>& letters);

}  // namespace qkv

#endif  // QKV_SRC_CORE_SHAPE_TABLE_H_
