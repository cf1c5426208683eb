// Pictures of matrices as PNG: colours, axes with numbers, a colour bar.
#ifndef QKV_APPS_CLI_PICTURE_H_
#define QKV_APPS_CLI_PICTURE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qkv/status.h"

namespace qkv::cli {

using Colour = std::array<std::uint8_t, 3>;

// Cividis, which colour-blind readers see alike: 0 dark blue, 1 yellow; what lies outside is held at the ends.
Colour cividis(double part);

class Picture {
 public:
  Picture(int width, int height, Colour background);
  int width() const { return width_; }
  int height() const { return height_; }

  void set(int x, int y, Colour colour);  // outside of the picture: nothing
  void fill(int x, int y, int width, int height, Colour colour);
  // Digits and what numbers are written with, 7 pixels high; (x, y) is the upper left corner.
  void number(int x, int y, const std::string& text, Colour colour);
  static int number_width(const std::string& text);

  // The file's bytes, with texts (keyword, Latin-1 text) that say where the picture came from.
  // Errors: kOutOfMemory.
  Result<std::string> png(const std::vector<std::pair<std::string, std::string>>& texts) const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> bytes_;  // [height][width][3]
};

// A matrix of colours (part(row, column) from 0 to 1; NaN is grey) with axes that count from `first` in steps of `step`
// and a bar that says which numbers the colours stand for.
struct MatrixPicture {
  std::int64_t rows = 0, columns = 0;
  std::function<double(std::int64_t row, std::int64_t column)> part;
  std::int64_t first_row = 0, first_column = 0, step = 1;
  std::function<double(double part)> value_of;  // the number that a part of the bar stands for
  int scale = 1;                                // pixels a cell
};
Picture draw(const MatrixPicture& matrix);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_PICTURE_H_
