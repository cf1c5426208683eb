// `qkv map`: the weights of one head as a picture.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/map_head.h"
#include "apps/cli/picture.h"
#include "apps/cli/progress_bar.h"
#include "qkv/map.h"
#include "qkv/version.h"
#include "src/core/status_macros.h"
#include "src/io/atomic_file.h"
#include "src/io/tensor_file.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "FILE is a capture (qkv.capture in Python, or qkv-capture), or holds plain tensors q and k; for those the options "
    "of\n"
    "`qkv run` say what the mask is. Weights are computed from q and k, at any length; a pixel of several shows the\n"
    "largest (max: no thin line is lost) or their mean (mean: no mass is lost). The file's ending says what is "
    "written:\n"
    ".png a picture with axes and a colour bar; .npz or .safetensors the numbers, max, mean, lse, entropy.\n"
    "\n"
    "Examples:\n"
    "  qkv map capture.safetensors --layer 3 --head 5 -o map.png\n"
    "  qkv map capture.safetensors --layer 3 --head 5 -o part.png --rows 1000:1400 --cols 0:400 --colour log\n"
    "  qkv map examples/minilm.safetensors --batch 2 --head 3 -o map.npz";

// What is drawn of a head.
struct Drawn {
  Tensor max, mean;
  std::int64_t first_row = 0, first_column = 0, step = 1;
  std::vector<double> lse, entropy;
};

class MapCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("map", "Draw the weights of one head, at any length");
    app->add_option("files", options_.tensors.files, "A capture, or files that hold tensors (.safetensors .npz .npy)")
        ->required();
    app->add_option("-o,--output", output_, "The file to write (.png .npz .safetensors)")
        ->type_name("FILE")
        ->required();
    app->add_option("--layer", options_.layer, "The layer, of a capture")->type_name("N");
    app->add_option("--call", options_.call, "The call, where a layer has several")->type_name("NAME");
    app->add_option("--head", options_.head, "The query head (default 0)")->type_name("N");
    app->add_option("--batch", options_.batch, "The batch entry (default 0)")->type_name("N");
    app->add_option("--px", pixels_, "Pixels a side at most (default 1024)")->type_name("N");
    app->add_option("--rows", rows_, "Rows from A to before B only")->type_name("A:B");
    app->add_option("--cols", columns_, "Keys from A to before B only")->type_name("A:B");
    app->add_option("--pool", pool_, "What a pixel of several weights shows")->type_name("max|mean");
    app->add_option("--colour", colour_, "Colours by the weight, its logarithm, or by its row's largest")
        ->type_name("linear|log|row");
    add_names_and_semantics(*app, options_.tensors);
    app->add_option("--threads", options_.tensors.threads, "Threads (default: as many as the machine gives)")
        ->type_name("N");
    app->add_option("--target", options_.tensors.target, "Instruction set to use")
        ->type_name("auto|avx512|avx512bf16|avx2|neon|portable");
    app->footer(kFooter);
    app_ = app;
    return app;
  }

  Result<int> run(Console& console) override {
    QKV_RETURN_IF_ERROR(check_words());
    InterruptGuard guard;
    QKV_ASSIGN_OR_RETURN(MapHead head, MapHead::open(options_, *app_));
    ProgressBar bar(console);
    Execution execution;
    execution.threads = options_.tensors.threads;
    QKV_ASSIGN_OR_RETURN(execution.target, parse_target(options_.tensors.target));
    execution.progress = [&bar](std::int64_t done, std::int64_t total) {
      bar.show(done, total);
      return !InterruptGuard::requested();
    };
    Result<Drawn> drawn = draw_head(head, execution);
    bar.clear();
    if (drawn.code() == StatusCode::kCancelled || InterruptGuard::requested()) {
      console.err << "qkv map: interrupted; nothing was written\n";
      return kInterrupted;
    }
    if (!drawn.is_ok()) return drawn.status();
    QKV_RETURN_IF_ERROR(is_png() ? write_picture(*drawn, head) : write_numbers(*drawn, head));
    console.out << "wrote " << output_ << ": " << head.title() << ", rows " << drawn->first_row << " to "
                << std::min(drawn->first_row + drawn->max.shape()[0] * drawn->step, head.rows()) - 1 << ", keys "
                << drawn->first_column << " to "
                << std::min(drawn->first_column + drawn->max.shape()[1] * drawn->step, head.columns()) - 1 << ", "
                << drawn->step << " × " << drawn->step << " weights a pixel\n";
    return kDone;
  }

 private:
  bool is_png() const { return output_.ends_with(".png") || output_.ends_with(".PNG"); }

  Status check_words() const {
    if (!is_png()) QKV_RETURN_IF_ERROR(check_numbers_name());
    if (pool_ != "max" && pool_ != "mean")
      return invalid_argument("--pool '" + pool_ + "' is unknown; expected max or mean");
    if (colour_ != "linear" && colour_ != "log" && colour_ != "row")
      return invalid_argument("--colour '" + colour_ + "' is unknown; expected linear, log or row");
    constexpr std::int64_t kMostPixels = 16384;
    if (pixels_ < 1 || pixels_ > kMostPixels)
      return invalid_argument("--px: expected 1 to " + std::to_string(kMostPixels) + ", found " +
                              std::to_string(pixels_));
    return {};
  }

  Status check_numbers_name() const {
    const Result<FileFormat> format = format_of_name(output_);
    if (!format.is_ok() || *format == FileFormat::kNpy)
      return invalid_argument("-o " + output_ + ": expected a name that ends in .png, .npz or .safetensors");
    return {};
  }

  Result<Drawn> draw_head(const MapHead& head, const Execution& execution) const {
    Drawn out;
    const MapInputs inputs = head.inputs();
    if (rows_.empty() && columns_.empty()) {
      QKV_ASSIGN_OR_RETURN(Overview whole, map_overview(inputs, head.options(), {.pixels = pixels_}, execution));
      out.max = std::move(whole.max);
      out.mean = std::move(whole.mean);
      out.step = whole.step;
      out.lse = std::move(whole.lse);
      out.entropy = std::move(whole.entropy);
      return out;
    }
    QKV_ASSIGN_OR_RETURN(const Range rows, parse_range("--rows", rows_, head.rows()));
    QKV_ASSIGN_OR_RETURN(const Range columns, parse_range("--cols", columns_, head.columns()));
    // Only the rows that are drawn need their lse.
    QKV_ASSIGN_OR_RETURN(out.lse, lse_of_rows(head, rows, execution));
    const std::int64_t most = std::max(rows.end - rows.begin, columns.end - columns.begin);
    MapTile tile{rows.begin, columns.begin, (most + pixels_ - 1) / pixels_, 0, 0};
    tile.height = (rows.end - rows.begin + tile.step - 1) / tile.step;
    tile.width = (columns.end - columns.begin + tile.step - 1) / tile.step;
    out.first_row = rows.begin;
    out.first_column = columns.begin;
    out.step = tile.step;
    QKV_ASSIGN_OR_RETURN(out.max, Tensor::zeros(DType::kF32, {tile.height, tile.width}));
    QKV_ASSIGN_OR_RETURN(out.mean, Tensor::zeros(DType::kF32, {tile.height, tile.width}));
    QKV_RETURN_IF_ERROR(map_tile(inputs, out.lse, tile, {out.max.view().as<float>(), out.mean.view().as<float>()},
                                 head.options(), execution));
    return out;
  }

  // The part of the colour scale for every pixel, and the number that a part stands for.
  MatrixPicture coloured(const Drawn& drawn) const {
    const Tensor& shown = pool_ == "max" ? drawn.max : drawn.mean;
    const float* values = shown.data<float>();
    const std::int64_t rows = shown.shape()[0], columns = shown.shape()[1];
    double most = 0;
    for (std::int64_t at = 0; at < shown.size(); ++at)
      if (values[at] > most) most = static_cast<double>(values[at]);
    constexpr double kDecades = 5;  // of a logarithmic scale, below the largest
    MatrixPicture picture;
    picture.rows = rows;
    picture.columns = columns;
    picture.first_row = drawn.first_row;
    picture.first_column = drawn.first_column;
    picture.step = drawn.step;
    constexpr std::int64_t kWanted = 512;  // pixels that a small matrix is drawn with
    picture.scale = static_cast<int>(std::max<std::int64_t>(1, kWanted / std::max(rows, columns)));
    if (colour_ == "row") {
      std::vector<float> largest(static_cast<std::size_t>(rows));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          largest[static_cast<std::size_t>(r)] =
              std::max(largest[static_cast<std::size_t>(r)], values[r * columns + c]);
      picture.part = [=](std::int64_t r, std::int64_t c) {
        const float top = largest[static_cast<std::size_t>(r)];
        return top > 0 ? static_cast<double>(values[r * columns + c] / top) : 0.0;
      };
      picture.value_of = [](double part) { return part; };
    } else if (colour_ == "log") {
      picture.part = [=](std::int64_t r, std::int64_t c) {
        const double value = static_cast<double>(values[r * columns + c]);
        return value > 0 ? 1 + std::log10(value / most) / kDecades : value == 0 ? 0 : value;
      };
      picture.value_of = [=](double part) { return most * std::pow(10, (part - 1) * kDecades); };
    } else {
      picture.part = [=](std::int64_t r, std::int64_t c) {
        const double value = static_cast<double>(values[r * columns + c]);
        return most > 0 ? value / most : value;
      };
      picture.value_of = [=](double part) { return part * most; };
    }
    return picture;
  }

  std::string shown_what(const Drawn& drawn, const MapHead& head) const {
    return head.title() + "; " + pool_ + " of " + std::to_string(drawn.step) + " x " + std::to_string(drawn.step) +
           " weights, colours " + colour_ + "; from row " + std::to_string(drawn.first_row) + ", key " +
           std::to_string(drawn.first_column) + "; qkv " + QKV_VERSION;
  }

  Status write_picture(const Drawn& drawn, const MapHead& head) const {
    const Picture picture = draw(coloured(drawn));
    QKV_ASSIGN_OR_RETURN(const std::string bytes, picture.png({{"Title", "Attention weights"},
                                                               {"Description", shown_what(drawn, head)},
                                                               {"Source", head.source()},
                                                               {"Software", std::string("qkv ") + QKV_VERSION}}));
    const auto cannot = [&](const Status& why) {
      return Status(why.code(), "cannot write " + output_ + ": " + why.message());
    };
    Result<AtomicFile> file = AtomicFile::create(output_);
    if (!file.is_ok()) return cannot(file.status());
    const Status written = file->write(bytes);
    const Status done = written.is_ok() ? file->commit() : written;
    return done.is_ok() ? done : cannot(done);
  }

  Status write_numbers(const Drawn& drawn, const MapHead& head) const {
    FileContents contents;
    contents.tensors = {{"max", drawn.max.view()}, {"mean", drawn.mean.view()}};
    const auto rows = static_cast<std::int64_t>(drawn.lse.size());
    contents.tensors.push_back({"lse", View<const double>(drawn.lse.data(), {rows})});
    if (!drawn.entropy.empty())
      contents.tensors.push_back({"entropy", View<const double>(drawn.entropy.data(), {rows})});
    contents.metadata = {{"step", std::to_string(drawn.step)},
                         {"first_row", std::to_string(drawn.first_row)},
                         {"first_key", std::to_string(drawn.first_column)},
                         {"of", head.title()},
                         {"source", head.source()},
                         {"made_by", std::string("qkv ") + QKV_VERSION}};
    return write_tensor_file(output_, contents);
  }

  MapHeadOptions options_;
  std::string output_, rows_, columns_, pool_ = "max", colour_ = "linear";
  std::int64_t pixels_ = 1024;
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_map_command() { return std::make_unique<MapCommand>(); }

}  // namespace qkv::cli
