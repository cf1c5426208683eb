// The head that `qkv map` draws: of a capture, or of plain tensors in files.
#ifndef QKV_APPS_CLI_MAP_HEAD_H_
#define QKV_APPS_CLI_MAP_HEAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/run_inputs.h"
#include "apps/cli/run_options.h"
#include "qkv/map.h"
#include "src/capture/capture.h"
#include "src/survey/head_slice.h"

namespace qkv::cli {

struct MapHeadOptions {
  RunOptions tensors;  // files, names and the options of attention
  std::optional<std::int64_t> layer;
  std::string call;
  std::int64_t head = 0, batch = 0;
};

class MapHead {
 public:
  // Errors: of the file; kInvalidArgument for a head that is not there, with what there is, and for options of `app`
  // that a capture answers itself.
  static Result<MapHead> open(const MapHeadOptions& options, const CLI::App& app);

  MapInputs inputs() const { return {slice_->inputs.q, slice_->inputs.k}; }
  const AttentionOptions& options() const { return slice_->options; }
  std::int64_t rows() const { return slice_->inputs.q.shape[2]; }
  std::int64_t columns() const { return slice_->inputs.k.shape[2]; }
  const std::string& title() const { return title_; }    // "layer 3, head 5"
  const std::string& source() const { return source_; }  // the model, or the file

 private:
  Status take_capture(TensorFile file, const MapHeadOptions& options, const CLI::App& app);
  Status take_tensors(const MapHeadOptions& options);

  // On the heap, since views and spans point into them.
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<CapturedHead> captured_;
  std::unique_ptr<InputFiles> files_;
  std::unique_ptr<RunCase> run_;
  std::unique_ptr<HeadSlice> slice_;
  std::string title_, source_;
};

// "a:b" of `length`; either may be left out. Errors: kInvalidArgument naming the flag.
struct Range {
  std::int64_t begin = 0, end = 0;
};
Result<Range> parse_range(const std::string& flag, const std::string& text, std::int64_t length);

// lse [Tq] of the rows of a range; the others are left 0.
Result<std::vector<double>> lse_of_rows(const MapHead& head, const Range& rows, const Execution& execution);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_MAP_HEAD_H_
