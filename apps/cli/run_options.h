// The options of `qkv run`, as typed.
#ifndef QKV_APPS_CLI_RUN_OPTIONS_H_
#define QKV_APPS_CLI_RUN_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/options.h"
#include "qkv/problem.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace CLI {
class App;
}

namespace qkv::cli {

inline constexpr double kTolerance = 1e-5;

struct RunOptions {
  std::vector<std::string> files;
  std::string output;
  std::string compare;              // name of a stored tensor
  std::optional<double> tolerance;  // of --compare; kTolerance if not given
  std::string q = "q", k = "k", v = "v";
  std::string d_o, d_lse;  // names for --backward; "do" and no gradient of lse if not given
  std::string causal;      // "" no; "true" yes; else a corner
  std::string corner, window;
  std::optional<double> scale, softcap;
  std::string keep, bias, key_mask;  // names; not given: the tensor of that name, if there; "none": none
  std::string lengths, cu_seqlens_q, cu_seqlens_k, slopes, sinks;  // a tensor's name, or numbers; the last two as keep
  std::string layout = "bhtd", out_dtype, target = "auto";
  int threads = 0;
  bool lse = false, backward = false;
};

// Adds to another command what names q, k, v and says the mask, in a group of that name.
void add_names_and_semantics(CLI::App& app, RunOptions& options);
// Refuses any of those for a capture, which says itself what was computed.
Status refuse_tensor_options(const CLI::App& app);

// The whole of `text` as a number, digits and no more but a minus; absent if it is none.
std::optional<std::int64_t> whole_number(std::string_view text);

// Adds `run` to the tool; values land in `options`.
CLI::App* add_run_options(CLI::App& tool, RunOptions& options);

// What is wrong with the options by themselves: a value outside its domain, an option without effect, a corner that
// became a file (`--causal top_left`). Errors: kInvalidArgument naming the flag.
Status check_run_options(const RunOptions& options);

// A corner without effect; asked once the files' slopes are known. Errors: kInvalidArgument.
Status check_corner(const RunOptions& options);

// Errors: kInvalidArgument naming the types that o may have.
Result<DType> parse_out_dtype(const std::string& text);

// The part of AttentionOptions that needs no file: scale, softcap, causal, corner, offset, window.
// Errors: kInvalidArgument naming the flag, what it takes and what was found.
Result<AttentionOptions> positions_and_scale(const RunOptions& options);

// "255,0" as left and right; -1 leaves a side open.
Result<Window> parse_window(const std::string& text);

Result<Layout> parse_layout(const std::string& text);

// "3,5" as numbers; absent if `text` is no list of numbers (then it is a tensor's name).
std::optional<std::vector<double>> parse_numbers(const std::string& text);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_RUN_OPTIONS_H_
