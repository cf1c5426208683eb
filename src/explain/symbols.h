// How lessons write a stage: its symbol (the weights p are called A there) and its formula.
#ifndef QKV_SRC_EXPLAIN_SYMBOLS_H_
#define QKV_SRC_EXPLAIN_SYMBOLS_H_

#include <string_view>

namespace qkv {

// The symbol of a stage or of an input; its name if lessons have none.
std::string_view symbol_of(std::string_view stage);

// `formula` of a stage in symbols: "softmax(S)" for p's "softmax(masked)". "" where it has terms that a lesson leaves
// out (a bias, a sink, a softcap), and for what is given: never half of the truth.
std::string_view lesson_formula(std::string_view stage, std::string_view formula);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_SYMBOLS_H_
