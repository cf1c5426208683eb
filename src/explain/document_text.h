// The JSON text of a document, line by line: what the writers of every kind of document share.
#ifndef QKV_SRC_EXPLAIN_DOCUMENT_TEXT_H_
#define QKV_SRC_EXPLAIN_DOCUMENT_TEXT_H_

#include <string>
#include <vector>

#include "qkv/tensor.h"
#include "src/explain/json_read.h"

namespace qkv {

inline constexpr int kDocumentVersion = 1;  // goes up when a field changes its meaning, not when one is added

// One line, with bytes that are no UTF-8 replaced.
std::string text_of(const Json& value);

// A JSON number cannot be infinite; the texts "Infinity", "-Infinity" and "NaN" can.
Json number_of(double value);

Json shape_of(const Dims& shape);

// `{"name":...,"values":[...]}` with the values written straight from memory: a JSON tree of them would be many times
// their size. Constraint: `head` is an object with a field.
std::string with_values(const Json& head, View<const void> values);

// Lines of an object, one field each, so that two documents can be compared with diff.
class Lines {
 public:
  void add(const std::string& name, const std::string& value);
  void add(const std::string& name, const Json& value);
  void add_list(const std::string& name, const std::vector<std::string>& entries);
  std::string finish() const { return text_ + "\n}"; }

 private:
  std::string text_;
};

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_DOCUMENT_TEXT_H_
