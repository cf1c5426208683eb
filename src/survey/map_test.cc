// Pictures of a map against the whole float64 matrix, pooled by plain loops, on every target.
#include "qkv/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "qkv/reference.h"
#include "tests/attention_testing.h"

namespace qkv {
namespace {

// The weights of a problem of one head, and its rows, by the reference.
struct Whole {
  explicit Whole(const check::Case& c) {
    Trace trace;
    const auto result = must(reference::attention_forward(c.inputs(), c.options(), &trace));
    const Stage* p = trace.find("p");
    rows = p->values.shape()[2];
    columns = p->values.shape()[3];
    weights.assign(p->values.data<double>(), p->values.data<double>() + rows * columns);
    lse.assign(result.lse.data<double>(), result.lse.data<double>() + rows);
  }
  double at(std::int64_t row, std::int64_t column) const {
    return weights[static_cast<std::size_t>(row * columns + column)];
  }

  // A weight's relative error is that of its score, which is as large as lse.
  double tolerance() const {
    double largest = 0;
    for (const double each : lse)
      if (std::isfinite(each)) largest = std::max(largest, std::fabs(each));
    return 3e-6 * (1 + largest / 8);
  }

  std::int64_t rows = 0, columns = 0;
  std::vector<double> weights, lse;
};

struct Pixel {
  double max = 0, mean = 0;
};

// The pixel whose first weight is (row, column).
Pixel pixel_of(const Whole& whole, std::int64_t row, std::int64_t column, std::int64_t step) {
  Pixel out;
  double count = 0;
  for (std::int64_t i = row; i < std::min(row + step, whole.rows); ++i)
    for (std::int64_t j = column; j < std::min(column + step, whole.columns); ++j, ++count) {
      out.max = std::max(out.max, whole.at(i, j));
      out.mean += whole.at(i, j);
    }
  out.mean /= std::max(count, 1.0);
  return out;
}

MapInputs inputs_of(const check::Case& c) { return {c.q.view, c.k.view}; }

void expect_overview(const check::Case& c, const Whole& whole, std::int64_t pixels, Target target) {
  const std::string where =
      format(c.problem) + " in " + std::to_string(pixels) + " on " + std::string(to_string(target));
  const Overview found = must(map_overview(inputs_of(c), c.options(), {.pixels = pixels}, on(target)), where);
  ASSERT_LE(std::max(found.max.shape()[0], found.max.shape()[1]), pixels) << where;
  const double tolerance = c.problem.dtype == DType::kF64 ? 1e-7 : whole.tolerance();  // pictures are f32
  for (std::int64_t r = 0; r < found.max.shape()[0]; ++r)
    for (std::int64_t s = 0; s < found.max.shape()[1]; ++s) {
      const Pixel want = pixel_of(whole, r * found.step, s * found.step, found.step);
      const auto at = static_cast<std::size_t>(r * found.max.shape()[1] + s);
      ASSERT_NEAR(found.max.data<float>()[at], want.max, tolerance) << where << " pixel " << r << "," << s;
      ASSERT_NEAR(found.mean.data<float>()[at], want.mean, tolerance) << where << " pixel " << r << "," << s;
    }
  for (std::int64_t i = 0; i < whole.rows; ++i) {
    double entropy = 0, largest = 0;
    for (std::int64_t j = 0; j < whole.columns; ++j) {
      const double p = whole.at(i, j);
      if (p > 0) entropy -= p * std::log(p);
      largest = std::max(largest, p);
    }
    const auto at = static_cast<std::size_t>(i);
    ASSERT_NEAR(found.entropy[at], entropy, 1e-5) << where << " row " << i;
    ASSERT_NEAR(found.largest[at], largest, whole.tolerance()) << where << " row " << i;
    if (std::isinf(whole.lse[at]))
      ASSERT_EQ(found.lse[at], whole.lse[at]) << where << " row " << i;
    else
      ASSERT_NEAR(found.lse[at], whole.lse[at], 2e-6 * (1 + std::fabs(whole.lse[at]))) << where << " row " << i;
  }
}

void expect_tile(const check::Case& c, const Whole& whole, const MapTile& tile, Target target) {
  std::vector<float> max(static_cast<std::size_t>(tile.height * tile.width), -1.0f), mean = max;
  const Dims shape{tile.height, tile.width};
  const std::string where = format(c.problem) + " from " + std::to_string(tile.row) + "," +
                            std::to_string(tile.column) + " by " + std::to_string(tile.step) + " on " +
                            std::string(to_string(target));
  const Status status =
      map_tile(inputs_of(c), whole.lse, tile, {View<float>(max.data(), shape), View<float>(mean.data(), shape)},
               c.options(), on(target));
  ASSERT_TRUE(status.is_ok()) << where << ": " << status.message();
  for (std::int64_t r = 0; r < tile.height; ++r)
    for (std::int64_t s = 0; s < tile.width; ++s) {
      const Pixel want = pixel_of(whole, tile.row + r * tile.step, tile.column + s * tile.step, tile.step);
      const auto at = static_cast<std::size_t>(r * tile.width + s);
      ASSERT_NEAR(max[at], want.max, whole.tolerance()) << where << " pixel " << r << "," << s;
      ASSERT_NEAR(mean[at], want.mean, whole.tolerance()) << where << " pixel " << r << "," << s;
    }
}

void expect_right(const std::string& line) {
  const check::Case c = case_of(line);
  const Whole whole(c);
  for (const Target target : available_targets()) {
    for (const std::int64_t pixels : {1000, 100, 37, 16, 1}) expect_overview(c, whole, pixels, target);
    for (const MapTile& tile : {MapTile{0, 0, 1, 20, 30}, MapTile{3, 5, 1, 64, 64}, MapTile{7, 2, 3, 16, 16},
                                MapTile{1, 0, 8, 8, 40}, MapTile{0, 1, 50, 3, 3}, MapTile{2, 2, 1000, 2, 2}})
      if (tile.row < whole.rows && tile.column < whole.columns) expect_tile(c, whole, tile, target);
  }
}

const char* const kTypes[] = {"", " f64", " bf16", " f16"};

TEST(Map, agrees_with_float64_at_every_size) {
  for (const char* type : kTypes)
    for (const char* lengths : {"T1", "T2", "T47", "T48x5", "T5x200", "T129", "T300x257"})
      expect_right("attention " + std::string(lengths) + " D8" + type);
}

TEST(Map, agrees_with_float64_under_every_mask) {
  for (const char* mask :
       {" causal=top_left", " causal=bottom_right", " causal=offset:30", " causal=offset:-20",
        " window=5,0 corner=bottom_right", " window=40,9 corner=top_left", " keep=150x210", " keep=1x210", " key_mask",
        " lengths=99", " bias=150x210", " bias=150x1 causal=bottom_right"})
    expect_right("attention T150x210 D16" + std::string(mask));
}

TEST(Map, agrees_with_float64_under_every_term) {
  for (const char* term :
       {" softcap=2", " sinks", " sinks causal=bottom_right", " slopes corner=bottom_right", " scale=0", " scale=-1",
        " scale=4", " scale=1e-30", " softcap=5 sinks slopes corner=top_left"})
    expect_right("attention T150x210 D16" + std::string(term));
}

TEST(Map, agrees_with_float64_in_packed_sequences) {
  expect_right("attention T90x120 D8 cu_q=0,20,20,90 cu_k=0,50,51,120");
  expect_right("attention T90 D8 cu_q=0,20,21,90 cu_k=0,20,21,90 causal");
}

TEST(Map, the_mean_conserves_the_mass_of_every_row) {
  const check::Case c = case_of("attention T1000 D16 causal");
  for (const std::int64_t pixels : {1000, 64, 13}) {
    const Overview found = must(map_overview(inputs_of(c), c.options(), {.pixels = pixels}));
    double mass = 0;
    const std::int64_t side = found.mean.shape()[0];
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t s = 0; s < side; ++s) {
        const double height = static_cast<double>(std::min((r + 1) * found.step, std::int64_t{1000}) - r * found.step);
        const double width = static_cast<double>(std::min((s + 1) * found.step, std::int64_t{1000}) - s * found.step);
        mass += static_cast<double>(found.mean.data<float>()[r * side + s]) * height * width;
      }
    EXPECT_NEAR(mass / 1000, 1, 1e-5) << pixels;
  }
}

TEST(Map, one_bright_cell_is_seen_at_every_zoom_by_its_maximum) {
  const std::int64_t n = 500;
  std::vector<float> q(static_cast<std::size_t>(n)), k(static_cast<std::size_t>(n));
  q[321] = 100;
  k[77] = 1;
  const MapInputs inputs{View<const float>(q.data(), {1, 1, n, 1}), View<const float>(k.data(), {1, 1, n, 1})};
  for (const std::int64_t pixels : {500, 125, 32}) {
    const Overview found = must(map_overview(inputs, {}, {.pixels = pixels}));
    const std::int64_t at = 321 / found.step * found.max.shape()[1] + 77 / found.step;
    EXPECT_NEAR(found.max.data<float>()[at], 1, 1e-6) << pixels;
  }
}

TEST(Map, half_precision_pictures_are_the_rounded_ones) {
  const check::Case c = case_of("attention T100 D8");
  const Overview whole = must(map_overview(inputs_of(c), c.options(), {.pixels = 50}));
  const Overview half = must(map_overview(inputs_of(c), c.options(), {.pixels = 50, .dtype = DType::kF16}));
  ASSERT_EQ(half.mean.dtype(), DType::kF16);
  for (std::int64_t at = 0; at < half.mean.size(); ++at)
    EXPECT_EQ(half.mean.data<f16>()[at].bits, to_f16(whole.mean.data<float>()[at]).bits);
}

TEST(Map, rows_that_are_not_finite_are_shown_as_such) {
  check::Case c = case_of("attention T20 D4 causal");
  set_element(c.q.view, 7 * c.q.view.strides[2], std::numeric_limits<double>::quiet_NaN());
  const Overview found = must(map_overview(inputs_of(c), c.options()));
  EXPECT_TRUE(std::isnan(found.lse[7]));
  EXPECT_TRUE(std::isnan(found.max.data<float>()[7 * 20]));
  EXPECT_FALSE(std::isnan(found.lse[8]));
  EXPECT_FALSE(std::isnan(found.max.data<float>()[8 * 20]));
}

TEST(Map, large_scores_keep_their_mass) {
  const check::Case c = case_of("attention T100 D8 scale=3000");
  const Whole whole(c);
  for (const Target target : available_targets()) {
    const Overview found = must(map_overview(inputs_of(c), c.options(), {}, on(target)));
    for (std::int64_t i = 0; i < 100; ++i) {
      double mass = 0;
      for (std::int64_t j = 0; j < 100; ++j) mass += static_cast<double>(found.mean.data<float>()[i * 100 + j]);
      EXPECT_NEAR(mass, 1, 1e-5) << i;
    }
  }
}

TEST(Map, the_same_bits_for_any_number_of_threads) {
  const check::Case c = case_of("attention T3000 D16 causal");
  const auto pictures = [&](int threads) {
    const Overview found = must(map_overview(inputs_of(c), c.options(), {.pixels = 100}, {.threads = threads}));
    std::vector<unsigned char> bits = bits_of(found.max.view());
    const std::vector<unsigned char> mean = bits_of(found.mean.view());
    bits.insert(bits.end(), mean.begin(), mean.end());
    return std::pair(bits, found.lse);
  };
  EXPECT_EQ(pictures(1), pictures(3));
}

TEST(Map, a_row_says_which_keys_and_why) {
  const check::Case c = case_of("attention T30x50 D8 causal=bottom_right scale=0.7");
  const Whole whole(c);
  const MapRow row = must(map_row(inputs_of(c), 11, 5, c.options()));
  ASSERT_EQ(row.keys.size(), 5U);
  EXPECT_EQ(row.allowed, 32);
  EXPECT_NEAR(row.lse, whole.lse[11], 1e-12);
  double before = 1, sum = 0;
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_NEAR(row.weights[n], whole.at(11, row.keys[n]), 1e-12);
    EXPECT_LE(row.weights[n], before);
    before = row.weights[n];
    sum += row.weights[n];
    EXPECT_NEAR(row.cumulative[n], sum, 1e-12);
    double score = 0;
    for (const double product : row.products[n]) score += product;
    EXPECT_NEAR(row.scores[n], score, 1e-12);
    EXPECT_NEAR(std::exp(row.scores[n] - row.lse), row.weights[n], 1e-9);
  }
  EXPECT_EQ(must(map_row(inputs_of(c), 0, 1000, c.options())).keys.size(), 21U);
}

TEST(Map, a_row_of_a_packed_sequence_names_the_keys_of_the_call) {
  const check::Case c = case_of("attention T9 D4 cu_q=0,4,9 cu_k=0,4,9");
  const MapRow row = must(map_row(inputs_of(c), 6, 100, c.options()));
  EXPECT_EQ(row.keys.size(), 5U);
  EXPECT_EQ(std::ranges::min(row.keys), 4);
}

TEST(Map, can_be_stopped) {
  const check::Case c = case_of("attention T3000 D16");
  Execution execution;
  execution.progress = [](std::int64_t, std::int64_t) { return false; };
  EXPECT_EQ(map_overview(inputs_of(c), c.options(), {}, execution).code(), StatusCode::kCancelled);
}

TEST(Map, what_does_not_fit_is_refused) {
  const check::Case two = case_of("attention B2 H2 T9 D8");
  EXPECT_NE(map_overview(inputs_of(two)).status().message().find("expected one batch entry and one head of each"),
            std::string::npos);
  const check::Case c = case_of("attention T9 D8");
  EXPECT_EQ(map_overview(inputs_of(c), {}, {.pixels = 0}).status().message(), "map: pixels is 0; expected at least 1");
  EXPECT_EQ(map_overview(inputs_of(c), {}, {.pixels = 9, .dtype = DType::kBF16}).status().message(),
            "map: pictures are f32 or f16, not bf16");
  std::vector<float> memory(4);
  const View<float> picture(memory.data(), {2, 2});
  const std::vector<double> lse(9);
  const auto tile = [&](std::span<const double> rows, const MapTile& at) {
    return map_tile(inputs_of(c), rows, at, {picture, picture}).message();
  };
  EXPECT_EQ(tile(std::span(lse).first(8), {0, 0, 1, 2, 2}), "map: lse has 8 rows; expected [Tq] = 9");
  EXPECT_EQ(tile(lse, {9, 0, 1, 2, 2}), "map: the tile begins at row 9, column 0, outside of 9 × 9");
  EXPECT_EQ(tile(lse, {0, 0, 0, 2, 2}), "map: step is 0; expected at least 1");
  EXPECT_NE(tile(lse, {0, 0, 1, 2, 3}).find("expected [2,3]"), std::string::npos);
  EXPECT_EQ(map_row(inputs_of(c), 9).status().message(), "map: row 9 is none of 9");
}

}  // namespace
}  // namespace qkv
