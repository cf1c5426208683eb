// Matches tensors with the lines of a shape table ("k [B,Hkv,Tk,D]") and says which line broke.
#ifndef QKV_SRC_CORE_SHAPE_TABLE_H_
#define QKV_SRC_CORE_SHAPE_TABLE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

// Every call makes one, so it allocates nothing until something is wrong: texts are literals, or at least outlive it.
class ShapeTable {
 public:
  using Letters = std::initializer_list<std::string_view>;

  explicit ShapeTable(std::string_view operation) : operation_(operation) {}

  // Gives `letter` a value, as if a tensor called `source` had bound it; its shape, where there is one, joins the
  // message. Not for a temporary string: hence const char*.
  void define(std::string_view letter, std::int64_t value, const char* source, const Dims& shape = {}) {
    bind(letter, value, source, shape);
  }

  // The first tensor with a letter binds it, later ones must agree. A letter may be a product, "Hq*D", of bound
  // letters. Errors: kShapeMismatch: `attention: k [B,Hkv,Tk,D] is [2,2,5,8], but D is 7 in q [2,6,3,7]`.
  Status match(std::string_view tensor, Letters letters, const Dims& shape);

  // Constraint: the letter is bound.
  std::int64_t operator[](std::string_view letter) const;

  // "attention: " + text + " (q [2,8,128,64], k [2,3,512,64])", the tensors matched so far.
  std::string message(std::string_view text) const;

 private:
  // No default values: a table is made and thrown away in a call of nanoseconds.
  struct Named {
    const char* name;
    std::size_t length;
    std::int64_t extents[kMaxRank];
    int rank;
  };
  struct Binding {
    const char* letter;
    std::size_t length;
    std::int64_t value;
    Named source;
  };
  static constexpr int kMost = 24;  // letters and tensors of the longest table, twice; further ones go unmentioned

  static Named named(std::string_view name, const Dims& shape);
  static std::string text_of(const Named& tensor);
  void bind(std::string_view letter, std::int64_t value, std::string_view source, const Dims& shape);
  const Binding* find(std::string_view letter) const;
  // The value of a letter or of a product of letters; false while a factor is not bound.
  bool evaluate(std::string_view expression, std::int64_t& value) const;
  std::string sources_of(std::string_view expression) const;  // "q [2,6,3,7] and v", of a bound expression

  std::string_view operation_;
  int binding_count_ = 0;
  int seen_count_ = 0;
  Binding bindings_[kMost];
  Named seen_[kMost];
};

// "[B,Hkv,Tk,D]"
std::string letters_to_string(ShapeTable::Letters letters);

}  // namespace qkv

#endif  // QKV_SRC_CORE_SHAPE_TABLE_H_
