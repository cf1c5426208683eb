// `qkv map` from files to pictures and numbers.
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli/picture.h"
#include "qkv/reference.h"
#include "src/io/tensor_file.h"
#include "tests/capture_testing.h"
#include "tests/command_outcome.h"
#include "tests/temporary_file.h"

namespace qkv::cli {
namespace {

const std::string kMiniLM = QKV_SOURCE_DIR "/examples/minilm.safetensors";

Outcome map_of(const std::vector<std::string>& arguments) { return outcome_of("map", arguments); }

// Two layers, the first called twice; two batch entries of four heads over two KV heads.
struct SmallCapture {
  SmallCapture() : at("capture.safetensors"), out("out") {
    file.add("attention B2 H4/2 T30 D8 causal=offset:0", 0);
    file.add("attention B2 H4/2 T30 D8 causal=offset:0 window=7,0 softcap=5 sinks", 1);
    file.add("attention B2 H4/2 T20x30 D8 keep=2x4x20x30 bias=20x30 key_mask slopes causal=offset:10", 1);
    file.write(at.path());
  }
  Outcome map(std::vector<std::string> arguments, const std::string& name) const {
    arguments.insert(arguments.begin(), at.path());
    arguments.insert(arguments.end(), {"-o", out.folder() + "/" + name});
    return map_of(arguments);
  }
  TensorFile written(const std::string& name) const { return must(TensorFile::open(out.folder() + "/" + name)); }
  TemporaryFile at, out;
  CaptureFile file;
};

// The largest difference of the written `max` to the reference's weights from (row, column) on.
double difference(const SmallCapture& capture, std::size_t call, std::int64_t batch, std::int64_t head,
                  std::int64_t row = 0, std::int64_t column = 0) {
  const check::Case& c = capture.file.cases[call];
  Trace trace;
  must(reference::attention_forward(c.inputs(), c.options(), &trace));
  const Tensor& p = trace.find("p")->values;
  TensorFile file = capture.written("map.npz");
  const View<const void> max = must(file.view("max"));
  double worst = 0;
  for (std::int64_t r = 0; r < max.shape[0]; ++r)
    for (std::int64_t s = 0; s < max.shape[1]; ++s) {
      const std::int64_t at = ((batch * 4 + head) * p.shape()[2] + row + r) * p.shape()[3] + column + s;
      worst = std::max(worst, std::fabs(p.data<double>()[at] - element_as_double(max, r * max.strides[0] + s)));
    }
  return worst;
}

TEST(MapCommand, writes_the_weights_of_the_head_that_was_asked_for) {
  const SmallCapture capture;
  for (const std::int64_t batch : {0, 1})
    for (const std::int64_t head : {0, 3}) {
      const std::vector<std::string> which = {"--head", std::to_string(head), "--batch", std::to_string(batch)};
      const auto with = [&](std::vector<std::string> more) {
        more.insert(more.end(), which.begin(), which.end());
        return more;
      };
      ASSERT_EQ(capture.map(with({"--layer", "0"}), "map.npz").code, 0);
      EXPECT_LT(difference(capture, 0, batch, head), 1e-6);
      ASSERT_EQ(capture.map(with({"--call", "C0001"}), "map.npz").code, 0);
      EXPECT_LT(difference(capture, 1, batch, head), 1e-6);
      ASSERT_EQ(capture.map(with({"--call", "C0002", "--rows", "5:17", "--cols", "9:"}), "map.npz").code, 0);
      EXPECT_LT(difference(capture, 2, batch, head, 5, 9), 1e-6);
    }
}

TEST(MapCommand, numbers_say_where_they_are_from) {
  const SmallCapture capture;
  ASSERT_EQ(capture.map({"--layer", "0", "--head", "2", "--px", "10"}, "map.safetensors").code, 0);
  TensorFile file = capture.written("map.safetensors");
  EXPECT_EQ(file.metadata().at("step"), "4");
  EXPECT_EQ(file.metadata().at("of"), "layer 0, head 2, batch entry 0");
  EXPECT_EQ(file.metadata().at("source").find("tiny ("), 0U);
  EXPECT_EQ(must(file.view("mean")).shape, (Dims{8, 8}));
  EXPECT_EQ(must(file.view("lse")).shape, (Dims{30}));
  EXPECT_EQ(must(file.view("entropy")).shape, (Dims{30}));
}

// What a picture's file holds.
struct Png {
  explicit Png(const std::string& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
    image.format = PNG_FORMAT_RGB;
    bytes.resize(PNG_IMAGE_SIZE(image));
    EXPECT_NE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr), 0) << image.message;
    width = static_cast<int>(image.width);
    height = static_cast<int>(image.height);
  }
  Colour at(int x, int y) const {
    const auto index = static_cast<std::size_t>(y * width + x) * 3;
    return {bytes[index], bytes[index + 1], bytes[index + 2]};
  }
  std::vector<png_byte> bytes;
  int width = 0, height = 0;
};

TEST(MapCommand, draws_a_picture_with_axes_and_a_bar) {
  const SmallCapture capture;
  for (const char* colour : {"linear", "log", "row"})
    for (const char* pool : {"max", "mean"}) {
      ASSERT_EQ(capture.map({"--layer", "0", "--colour", colour, "--pool", pool}, "map.png").code, 0);
      const Png png(capture.out.folder() + "/map.png");
      EXPECT_GT(png.width, 17 * 30);
      EXPECT_GT(png.height, 17 * 30);
      // Row 0 of a causal map is its first key alone: yellow, and blue beside it.
      const int left = 8 + Picture::number_width("30") + 2 + 4, top = 8 + 7 + 2 + 4;
      EXPECT_EQ(png.at(left + 3, top + 3), cividis(1)) << colour;
      EXPECT_EQ(png.at(left + 17 * 29, top + 3), cividis(0)) << colour;
    }
}

TEST(MapCommand, plain_tensors_are_drawn_with_the_options_of_run) {
  const TemporaryFile out("map.npz");
  ASSERT_EQ(map_of({kMiniLM, "--batch", "2", "--head", "3", "--causal", "-o", out.path()}).code, 0);
  TensorFile file = must(TensorFile::open(out.path()));
  EXPECT_NEAR(element_as_double(must(file.view("max")), 0), 1, 1e-6);  // row 0 sees one key
  EXPECT_EQ(element_as_double(must(file.view("max")), 1), 0);
}

TEST(MapCommand, what_is_not_there_is_refused_with_what_there_is) {
  const SmallCapture capture;
  const auto error = [&](const std::vector<std::string>& arguments, const std::string& name = "map.png") {
    const Outcome outcome = capture.map(arguments, name);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_FALSE(std::filesystem::exists(capture.out.folder() + "/" + name));
    return outcome.err;
  };
  EXPECT_NE(error({}).find("which layer? give --layer; the capture has 0, 1"), std::string::npos);
  EXPECT_NE(error({"--layer", "4"}).find("there is no layer 4; the capture has 0, 1"), std::string::npos);
  EXPECT_NE(error({"--layer", "1"}).find("was called 2 times; name one with --call: C0001, C0002"), std::string::npos);
  EXPECT_NE(error({"--call", "C7"}).find("the capture holds C0000, C0001, C0002"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--head", "4"}).find("--head: expected 0 to 3, found 4"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--batch", "2"}).find("--batch: expected 0 to 1, found 2"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--rows", "9"}).find("'9' is not A:B"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--cols", "5:99"}).find("expected 0 <= A < B <= 30"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--px", "0"}).find("--px: expected 1 to 16384"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--pool", "sum"}).find("expected max or mean"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--colour", "jet"}).find("expected linear, log or row"), std::string::npos);
  EXPECT_NE(error({"--layer", "0", "--causal"}).find("--causal is for plain tensors"), std::string::npos);
  EXPECT_NE(error({"--layer", "0"}, "map.jpg").find("expected a name that ends in .png, .npz or .safetensors"),
            std::string::npos);
  EXPECT_EQ(map_of({kMiniLM, "--layer", "0", "-o", capture.out.path() + ".png"}).code, 2);
}

TEST(Picture, cividis_runs_from_blue_to_yellow_and_unknown_is_grey) {
  EXPECT_EQ(cividis(0), (Colour{0, 32, 81}));
  EXPECT_EQ(cividis(1), (Colour{253, 234, 69}));
  EXPECT_EQ(cividis(-3), cividis(0));
  EXPECT_EQ(cividis(7), cividis(1));
  EXPECT_EQ(cividis(std::nan("")), (Colour{200, 200, 200}));
}

}  // namespace
}  // namespace qkv::cli
