// A matrix as a block of text: its name, formula and shape, labels on rows and columns, numbers under one another.
#ifndef QKV_APPS_CLI_MATRIX_BLOCK_H_
#define QKV_APPS_CLI_MATRIX_BLOCK_H_

#include <string>
#include <vector>

#include "apps/cli/block.h"
#include "apps/cli/explain_document.h"

namespace qkv::cli {

struct MatrixStyle {
  int digits = 2;
  int width = 80;              // columns that the block may take; a wider matrix is cut into blocks of columns
  std::ptrdiff_t picked = -1;  // a row to point at
  Paint paint;
  bool hide_infinite = false;  // −∞ is a hidden pair: a dot, not a number; of scores only
  std::string title;           // instead of "symbol = formula"
};

// Labels may be empty: rows and columns are then numbered.
Block matrix_block(const Matrix& matrix, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                   const MatrixStyle& style);

// "0.62"; "-0.00" becomes "0.00"; "NaN", "∞", "−∞".
std::string number_text(double value, int digits);

// "[0.85 0.15]"; more than `most` numbers are cut in the middle: "[0.12 0.44 … 0.31]".
std::string vector_text(const std::vector<double>& values, int digits, std::size_t most = 4);

// "5.4e-10": an error, whose order of magnitude is what counts; "0" for 0.
std::string small_number_text(double value);

// A bar of `width` columns at weight 1, to an eighth of a column.
std::string bar(double weight, int width);

// Labels with their index in front: "2 river".
std::vector<std::string> numbered(const std::vector<std::string>& names);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_MATRIX_BLOCK_H_
