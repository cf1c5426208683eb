// Pixels in memory, and libpng.
#include "apps/cli/picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <string_view>

namespace qkv::cli {
namespace {

// Every sixteenth of interpolateCividis of d3-scale-chromatic, which the page uses.
constexpr Colour kCividis[] = {{0, 32, 81},     {1, 43, 101},    {17, 54, 108},   {38, 66, 110},   {60, 77, 110},
                               {81, 88, 110},   {98, 100, 111},  {114, 112, 113}, {127, 124, 117}, {140, 136, 119},
                               {154, 148, 120}, {169, 161, 119}, {187, 175, 113}, {206, 189, 104}, {226, 203, 92},
                               {243, 218, 79},  {253, 234, 69}};
constexpr Colour kInk = {60, 60, 60}, kPaper = {255, 255, 255}, kUnknown = {200, 200, 200};

// Five columns of seven dots a sign, the lowest bit on top: all that a number is written with.
constexpr std::string_view kSigns = "0123456789.-e+";
constexpr std::uint8_t kDots[][5] = {
    {0x3E, 0x51, 0x49, 0x45, 0x3E}, {0x00, 0x42, 0x7F, 0x40, 0x00}, {0x42, 0x61, 0x51, 0x49, 0x46},
    {0x21, 0x41, 0x45, 0x4B, 0x31}, {0x18, 0x14, 0x12, 0x7F, 0x10}, {0x27, 0x45, 0x45, 0x45, 0x39},
    {0x3C, 0x4A, 0x49, 0x49, 0x30}, {0x01, 0x71, 0x09, 0x05, 0x03}, {0x36, 0x49, 0x49, 0x49, 0x36},
    {0x06, 0x49, 0x49, 0x29, 0x1E}, {0x00, 0x60, 0x60, 0x00, 0x00}, {0x08, 0x08, 0x08, 0x08, 0x08},
    {0x38, 0x54, 0x54, 0x54, 0x18}, {0x08, 0x08, 0x3E, 0x08, 0x08}};
constexpr int kSignWidth = 6, kSignHeight = 7;

constexpr int kMargin = 8, kTick = 4, kBarWidth = 16;

void append(png_structp png, png_bytep data, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}
void flush(png_structp /*png*/) {}

// Writes the whole file. False where libpng gave up: it jumps back here, over nothing that has a destructor.
bool write_png(png_structp png, png_infop info, int width, int height, png_bytep* rows, png_textp texts, int count) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's way to tell of an error
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_text(png, info, texts, count);
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value != 0 && std::fabs(value) < 1e-3 ? "%.0e" : "%.3g", value);
  return text;
}

// A round distance between numbers on an axis of `count` cells, of which about one in `room` may have one.
std::int64_t tick_distance(std::int64_t cells_apart, std::int64_t step) {
  const double least = static_cast<double>(std::max<std::int64_t>(cells_apart, 1) * step);
  double distance = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (distance * factor >= least) {
      distance *= factor;
      break;
    }
  return std::max<std::int64_t>(1, std::llround(distance));
}

struct Frame {
  int left, top, width, height;  // of the matrix
};

void draw_axes(const MatrixPicture& matrix, const Frame& frame, Picture& picture) {
  const auto last = [&](std::int64_t first, std::int64_t cells) { return first + cells * matrix.step; };
  const auto pixel = [&](std::int64_t at, std::int64_t first) {
    return static_cast<int>((at - first) * matrix.scale / matrix.step);
  };
  const std::int64_t across = tick_distance(64 / matrix.scale, matrix.step);
  for (std::int64_t at = (matrix.first_column + across - 1) / across * across;
       at < last(matrix.first_column, matrix.columns); at += across) {
    const int x = frame.left + pixel(at, matrix.first_column);
    picture.fill(x, frame.top - kTick, 1, kTick, kInk);
    const std::string text = std::to_string(at);
    picture.number(x - Picture::number_width(text) / 2, frame.top - kTick - kSignHeight - 2, text, kInk);
  }
  const std::int64_t down = tick_distance(40 / matrix.scale, matrix.step);
  for (std::int64_t at = (matrix.first_row + down - 1) / down * down; at < last(matrix.first_row, matrix.rows);
       at += down) {
    const int y = frame.top + pixel(at, matrix.first_row);
    picture.fill(frame.left - kTick, y, kTick, 1, kInk);
    const std::string text = std::to_string(at);
    picture.number(frame.left - kTick - 2 - Picture::number_width(text), y - kSignHeight / 2, text, kInk);
  }
}

void draw_bar(const MatrixPicture& matrix, const Frame& frame, Picture& picture) {
  const int left = frame.left + frame.width + 2 * kMargin;
  const int height = std::max(frame.height, 2 * kSignHeight);
  for (int y = 0; y < height; ++y)
    picture.fill(left, frame.top + y, kBarWidth, 1, cividis(1 - static_cast<double>(y) / std::max(height - 1, 1)));
  constexpr int kNumbers = 5;
  const int numbers = std::clamp(height / (2 * kSignHeight), 2, kNumbers);
  for (int n = 0; n < numbers; ++n) {
    const double part = 1 - static_cast<double>(n) / (numbers - 1);
    const int y = frame.top + static_cast<int>(std::lround((1 - part) * (height - 1)));
    picture.fill(left + kBarWidth, y, kTick, 1, kInk);
    picture.number(left + kBarWidth + kTick + 2,
                   std::clamp(y - kSignHeight / 2, frame.top, frame.top + height - kSignHeight),
                   short_number(matrix.value_of(part)), kInk);
  }
}

}  // namespace

Colour cividis(double part) {
  if (std::isnan(part)) return kUnknown;
  constexpr auto kLast = static_cast<double>(std::size(kCividis) - 1);
  const double at = std::clamp(part, 0.0, 1.0) * kLast;
  const auto below = std::min(static_cast<std::size_t>(at), std::size(kCividis) - 2);
  const double share = at - static_cast<double>(below);
  Colour out;
  for (std::size_t channel = 0; channel < 3; ++channel)
    out[channel] = static_cast<std::uint8_t>(
        std::lround((1 - share) * kCividis[below][channel] + share * kCividis[below + 1][channel]));
  return out;
}

Picture::Picture(int width, int height, Colour background)
    : width_(width), height_(height), bytes_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3) {
  fill(0, 0, width, height, background);
}

void Picture::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  std::ranges::copy(colour, bytes_.begin() + (static_cast<std::ptrdiff_t>(y) * width_ + x) * 3);
}

void Picture::fill(int x, int y, int width, int height, Colour colour) {
  for (int row = y; row < y + height; ++row)
    for (int column = x; column < x + width; ++column) set(column, row, colour);
}

int Picture::number_width(const std::string& text) { return static_cast<int>(text.size()) * kSignWidth - 1; }

void Picture::number(int x, int y, const std::string& text, Colour colour) {
  for (const char sign : text) {
    if (const std::size_t which = kSigns.find(sign); which != std::string_view::npos)
      for (int column = 0; column < 5; ++column)
        for (int row = 0; row < kSignHeight; ++row)
          if ((kDots[which][column] >> row & 1) != 0) set(x + column, y + row, colour);
    x += kSignWidth;
  }
}

Result<std::string> Picture::png(const std::vector<std::pair<std::string, std::string>>& texts) const {
  std::string out;
  std::vector<png_bytep> rows;
  rows.reserve(static_cast<std::size_t>(height_));
  for (int y = 0; y < height_; ++y)
    rows.push_back(const_cast<png_bytep>(bytes_.data()) + static_cast<std::ptrdiff_t>(y) * width_ * 3);
  std::vector<png_text> chunks;
  chunks.reserve(texts.size());
  for (const auto& [keyword, text] : texts) {
    png_text chunk{};
    chunk.compression = PNG_TEXT_COMPRESSION_NONE;
    chunk.key = const_cast<char*>(keyword.c_str());
    chunk.text = const_cast<char*>(text.c_str());
    chunk.text_length = text.size();
    chunks.push_back(chunk);
  }
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  bool written = false;
  if (info != nullptr) {
    png_set_write_fn(png, &out, append, flush);
    written = write_png(png, info, width_, height_, rows.data(), chunks.data(), static_cast<int>(chunks.size()));
  }
  png_destroy_write_struct(&png, &info);
  if (!written) return out_of_memory("libpng could not make the picture");
  return out;
}

Picture draw(const MatrixPicture& matrix) {
  const auto widest = [&](std::int64_t first, std::int64_t cells) {
    return Picture::number_width(std::to_string(first + cells * matrix.step));
  };
  const int number = 9 * kSignWidth;  // of the bar: "-1.23e-05"
  const Frame frame{kMargin + widest(matrix.first_row, matrix.rows) + 2 + kTick, kMargin + kSignHeight + 2 + kTick,
                    static_cast<int>(matrix.columns) * matrix.scale, static_cast<int>(matrix.rows) * matrix.scale};
  Picture picture(frame.left + frame.width + 2 * kMargin + kBarWidth + kTick + 2 + number + kMargin,
                  frame.top + std::max(frame.height, 2 * kSignHeight) + kMargin, kPaper);
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    for (std::int64_t c = 0; c < matrix.columns; ++c)
      picture.fill(frame.left + static_cast<int>(c) * matrix.scale, frame.top + static_cast<int>(r) * matrix.scale,
                   matrix.scale, matrix.scale, cividis(matrix.part(r, c)));
  draw_axes(matrix, frame, picture);
  draw_bar(matrix, frame, picture);
  return picture;
}

}  // namespace qkv::cli
