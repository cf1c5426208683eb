// The sums of outer products on every target, against plain loops in double.
#include <cstdint>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/dot/outer_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/dot/outer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
void product(const C* a, std::int64_t row_stride, std::int64_t step, std::int64_t rows, const C* b,
             std::int64_t b_stride, std::int64_t depth, C* c, std::int64_t c_stride, std::int64_t width) {
  outer_product<true>(Broadcasts<C>{a, row_stride, step}, rows, b, b_stride, depth, c, c_stride, width);
}
void product_f32(const float* a, std::int64_t row_stride, std::int64_t step, std::int64_t rows, const float* b,
                 std::int64_t b_stride, std::int64_t depth, float* c, std::int64_t c_stride, std::int64_t width) {
  product(a, row_stride, step, rows, b, b_stride, depth, c, c_stride, width);
}
void product_f64(const double* a, std::int64_t row_stride, std::int64_t step, std::int64_t rows, const double* b,
                 std::int64_t b_stride, std::int64_t depth, double* c, std::int64_t c_stride, std::int64_t width) {
  product(a, row_stride, step, rows, b, b_stride, depth, c, c_stride, width);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "qkv/target.h"
#include "src/core/hwy_target.h"
#include "src/core/random.h"

namespace qkv {
namespace {

HWY_EXPORT(product_f32);
HWY_EXPORT(product_f64);

template <class Test>
void on_every_target(const Test& test) {
  for (Target target : available_targets()) {
    SCOPED_TRACE(std::string(to_string(target)));
    hwy::ChosenTarget chosen;
    chosen.Update(highway_bits(target));
    test(chosen.GetIndex());
  }
}

template <class C>
std::vector<C> random_vector(std::int64_t count, std::uint64_t stream) {
  std::vector<C> values(static_cast<std::size_t>(count));
  const RandomStream random(1, stream);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<C>(random.normal(i));
  return values;
}

struct Shape {
  std::int64_t rows, width, depth;
};

// Exactly as large as what is read and written, so that a sanitizer sees a lane too many; odd strides misalign rows.
template <class C, class Product>
void expect_product(const Shape& shape, bool transposed, const Product& run) {
  const std::int64_t b_stride = shape.width + 3, c_stride = shape.width + 1;
  const std::vector<C> a = random_vector<C>(shape.rows * shape.depth, 1);
  const std::vector<C> b = random_vector<C>((shape.depth - 1) * b_stride + shape.width, 2);
  const std::vector<C> before = random_vector<C>((shape.rows - 1) * c_stride + shape.width, 3);
  std::vector<C> c = before;
  const std::int64_t row_stride = transposed ? 1 : shape.depth, step = transposed ? shape.rows : 1;
  run(a.data(), row_stride, step, shape.rows, b.data(), b_stride, shape.depth, c.data(), c_stride, shape.width);
  const double error = static_cast<double>(std::numeric_limits<C>::epsilon()) * static_cast<double>(shape.depth + 1);
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t x = 0; x < shape.width + (r + 1 < shape.rows ? 1 : 0); ++x) {
      const auto at = static_cast<std::size_t>(r * c_stride + x);
      double want = static_cast<double>(before[at]), size = std::fabs(want);
      for (std::int64_t i = 0; i < (x < shape.width ? shape.depth : 0); ++i) {
        const double term = static_cast<double>(a[static_cast<std::size_t>(r * row_stride + i * step)]) *
                            static_cast<double>(b[static_cast<std::size_t>(i * b_stride + x)]);
        want += term;
        size += std::fabs(term);
      }
      ASSERT_NEAR(static_cast<double>(c[at]), want, error * size)
          << shape.rows << "x" << shape.width << " r" << r << " x" << x;
    }
}

TEST(OuterProduct, agrees_with_double_for_every_number_of_rows_and_columns) {
  on_every_target([](std::size_t index) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 23})
      for (const std::int64_t width : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 48, 59, 64, 83, 129})
        for (const bool transposed : {false, true}) {
          expect_product<float>({rows, width, 7}, transposed, HWY_DISPATCH_TABLE(product_f32)[index]);
          expect_product<double>({rows, width, 3}, transposed, HWY_DISPATCH_TABLE(product_f64)[index]);
        }
  });
}

TEST(OuterProduct, of_depth_0_changes_nothing) {
  on_every_target([](std::size_t index) {
    std::vector<float> c = {1, 2, 3, 4, 5, 6};
    const std::vector<float> before = c;
    HWY_DISPATCH_TABLE(product_f32)[index](before.data(), 1, 1, 2, before.data(), 3, 0, c.data(), 3, 3);
    EXPECT_EQ(c, before);
  });
}

TEST(OuterProduct, gives_a_row_the_same_bits_whatever_its_neighbours) {
  constexpr std::int64_t kRows = 23, kWidth = 67, kDepth = 19;
  const std::vector<float> a = random_vector<float>(kRows * kDepth, 1), b = random_vector<float>(kDepth * kWidth, 2);
  on_every_target([&](std::size_t index) {
    std::vector<float> whole(kRows * kWidth), single(kRows * kWidth);
    const auto run = HWY_DISPATCH_TABLE(product_f32)[index];
    run(a.data(), kDepth, 1, kRows, b.data(), kWidth, kDepth, whole.data(), kWidth, kWidth);
    for (std::int64_t r = 0; r < kRows; ++r)
      run(a.data() + r * kDepth, kDepth, 1, 1, b.data(), kWidth, kDepth, single.data() + r * kWidth, kWidth, kWidth);
    EXPECT_EQ(whole, single);
  });
}

}  // namespace
}  // namespace qkv
#endif  // HWY_ONCE
