// What the shape table says in words, in both languages.
#ifndef QKV_SRC_EXPLAIN_SHAPE_WORDS_H_
#define QKV_SRC_EXPLAIN_SHAPE_WORDS_H_

#include <string_view>

namespace qkv {

struct Bilingual {
  std::string_view en, pt;
};

// What a line is: "one row a token, C numbers each".
Bilingual meaning_of_line(std::string_view line);

// How a shape misses what is expected.
enum class ShapeFault {
  kTransposed,   // right numbers, wrong order
  kRank,         // too few or too many axes
  kRows,         // the first axis
  kColumns,      // the last axis
  kHeads,        // kv_heads does not divide heads
  kIndivisible,  // heads does not divide C, and D is not given
};

// The mistake that usually causes it.
Bilingual usual_mistake(std::string_view line, ShapeFault fault);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_SHAPE_WORDS_H_
