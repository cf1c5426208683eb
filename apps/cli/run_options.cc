// Words of the command line turned into options.
#include "apps/cli/run_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr const char* kTensorGroup = "Plain tensors";

constexpr const char* kFooter =
    "Tensors have the axes [B,H,T,D]; [H,T,D] and [T,D] will do. NUMBERS stand for themselves (3,5) or name a tensor.\n"
    "A corner says where query 0 stands among the keys: top_left, bottom_right, or its position as a number\n"
    "(N or offset:N). It follows --causal after an equals sign: --causal=top_left, --causal=3.\n"
    "Tensors called keep, bias, key_mask, slopes, sinks, key_lengths, cu_seqlens_q or cu_seqlens_k are used as such,\n"
    "which a note says; `none` for the option (--bias none) leaves one out.\n"
    "\n"
    "Examples:\n"
    "  qkv run examples/minilm.safetensors -o out.npz --lse\n"
    "  qkv run q.npy k.npy v.npy -o o.npy --causal --scale 0.125\n"
    "  qkv run case.npz -o out.safetensors --causal=bottom_right --window 255,0 --slopes alibi\n"
    "  qkv run case.npz -o grads.npz --backward --do do\n"
    "  qkv run examples/minilm.safetensors --compare o      exit code 1 if it differs by more than --tolerance";

void add_names(CLI::App& app, RunOptions& o) {
  app.add_option("--q", o.q, "Name of the queries (default q)")->type_name("NAME");
  app.add_option("--k", o.k, "Name of the keys (default k)")->type_name("NAME");
  app.add_option("--v", o.v, "Name of the values (default v)")->type_name("NAME");
  app.add_option("--layout", o.layout, "Order of the axes in memory: heads or tokens first")->type_name("bhtd|bthd");
}

void add_files(CLI::App& app, RunOptions& o) {
  app.add_option("files", o.files, "Files that hold the tensors (.safetensors .npz .npy)")->required();
  app.add_option("-o,--output", o.output, "The file to write (.safetensors .npz .npy)")->type_name("FILE");
  add_names(app, o);
  app.add_flag("--lse", o.lse, "Write lse, the logarithm of each row's sum, too");
  app.add_option("--out-dtype", o.out_dtype, "Element type of o, for bf16 and f16 inputs")->type_name("f32|bf16|f16");
  app.add_option("--compare", o.compare, "Compare o with this stored tensor; exit code 1 if it differs")
      ->type_name("NAME");
  app.add_option("--tolerance", o.tolerance, "Largest difference that --compare allows (default 1e-5)")
      ->type_name("NUMBER");
}

void add_semantics(CLI::App& app, RunOptions& o) {
  app.add_option("--scale", o.scale, "Factor of the scores (default 1/sqrt(D))")->type_name("NUMBER");
  app.add_option("--softcap", o.softcap, "Cap scores: cap tanh(s / cap)")->type_name("NUMBER");
  app.add_flag("--causal", o.causal,
               "See no later key; where Tq is not Tk with a corner: top_left, bottom_right, N or offset:N")
      ->type_name("[=CORNER]");
  app.add_option("--corner", o.corner, "Corner of --causal, --window and --slopes where Tq is not Tk")
      ->type_name("CORNER");
  app.add_option("--window", o.window, "See keys from L before to R after; -1 = open")->type_name("L,R");
  app.add_option("--keep", o.keep,
                 "Boolean mask, true = may be seen; broadcasts to [B,H,Tq,Tk] (default keep, if there)")
      ->type_name("NAME");
  app.add_option("--bias", o.bias, "Added to the scores; broadcasts to [B,H,Tq,Tk] (default bias, if there)")
      ->type_name("NAME");
  app.add_option("--key-mask", o.key_mask, "Boolean mask [B,Tk], true = may be seen (default key_mask, if there)")
      ->type_name("NAME");
  app.add_option("--lengths", o.lengths, "Key lengths, one a batch entry (default key_lengths, if there)")
      ->type_name("NUMBERS");
  app.add_option("--cu-seqlens-q", o.cu_seqlens_q,
                 "Packed sequences: where each one's queries start, and the end (default cu_seqlens_q, if there)")
      ->type_name("NUMBERS");
  app.add_option("--cu-seqlens-k", o.cu_seqlens_k,
                 "Packed sequences: where each one's keys start, and the end (default cu_seqlens_k, if there)")
      ->type_name("NUMBERS");
  app.add_option("--slopes", o.slopes, "ALiBi slopes, one a head; `alibi` for the paper's (default slopes, if there)")
      ->type_name("NUMBERS");
  app.add_option("--sinks", o.sinks, "Sink logits, one a head (default sinks, if there)")->type_name("NUMBERS");
}

void add_execution(CLI::App& app, RunOptions& o) {
  app.add_flag("--backward", o.backward, "Write dq, dk, dv (float64 reference) from the gradient of o");
  app.add_option("--do", o.d_o, "Name of the gradient of o (default do)")->type_name("NAME");
  app.add_option("--dlse", o.d_lse, "Name of the gradient of lse")->type_name("NAME");
  app.add_option("--threads", o.threads, "Threads (default: QKV_THREADS, or as many as the machine gives)")
      ->type_name("N");
  app.add_option("--target", o.target, "Instruction set to use")
      ->type_name("auto|avx512|avx512bf16|avx2|neon|portable");
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
  return value;
}

Status set_corner(const std::string& flag, const std::string& text, AttentionOptions& options) {
  if (text == "top_left") {
    options.corner = Corner::kTopLeft;
  } else if (text == "bottom_right") {
    options.corner = Corner::kBottomRight;
  } else if (const auto number = parse_integer(text.starts_with("offset:") ? text.substr(7) : text)) {
    options.corner = Corner::kOffset;
    options.offset = *number;
  } else {
    return invalid_argument(flag + " '" + text +
                            "' is no corner; expected top_left, bottom_right or a whole number (N or offset:N)");
  }
  return {};
}

// `--causal top_left` makes a file of the corner, since a flag takes a value after "=" only.
Status refuse_corner_as_file(const RunOptions& options) {
  if (options.causal != "true") return {};
  for (const std::string& file : options.files) {
    AttentionOptions unused;
    std::error_code ignored;  // a name that cannot be looked up is no file
    if (set_corner("--causal", file, unused).is_ok() && !std::filesystem::exists(file, ignored))
      return invalid_argument("there is no file '" + file + "'; for the corner write --causal=" + file);
  }
  return {};
}

Status check_tolerance(const RunOptions& options) {
  if (!options.tolerance) return {};
  if (!(*options.tolerance >= 0)) {
    char found[32];
    std::snprintf(found, sizeof found, "%g", *options.tolerance);
    return invalid_argument(std::string("--tolerance: expected a number ≥ 0, found ") + found);
  }
  if (options.compare.empty()) return invalid_argument("--tolerance has no effect without --compare NAME");
  return {};
}

}  // namespace

void add_names_and_semantics(CLI::App& app, RunOptions& options) {
  const std::size_t before = app.get_options().size();
  add_names(app, options);
  add_semantics(app, options);
  std::vector<CLI::Option*> all = app.get_options([](CLI::Option*) { return true; });
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group(kTensorGroup);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Status refuse_tensor_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && option->get_group() == kTensorGroup)
      return invalid_argument(option->get_name() + " is for plain tensors; a capture says itself what was computed");
  return {};
}

CLI::App* add_run_options(CLI::App& tool, RunOptions& options) {
  CLI::App* app = tool.add_subcommand("run", "Compute attention of tensors in files");
  add_files(*app, options);
  add_semantics(*app, options);
  add_execution(*app, options);
  app->footer(kFooter);
  return app;
}

Status check_run_options(const RunOptions& options) {
  QKV_RETURN_IF_ERROR(check_tolerance(options));
  QKV_RETURN_IF_ERROR(refuse_corner_as_file(options));
  for (const auto& [flag, name] : {std::pair("--do", &options.d_o), std::pair("--dlse", &options.d_lse)})
    if (!options.backward && !name->empty())
      return invalid_argument(std::string(flag) + " has no effect without --backward");
  return {};
}

Status check_corner(const RunOptions& options) {
  if (!options.corner.empty() && options.causal.empty() && options.window.empty() && options.slopes.empty())
    return invalid_argument("--corner has no effect without --causal, --window or --slopes");
  return {};
}

Result<DType> parse_out_dtype(const std::string& text) {
  Result<DType> dtype = parse_dtype(text);
  if (dtype.is_ok() && is_floating(*dtype)) return dtype;
  return invalid_argument("--out-dtype '" + text + "' is unknown; expected f32, bf16 or f16");
}

Result<AttentionOptions> positions_and_scale(const RunOptions& options) {
  AttentionOptions out;
  out.scale = options.scale;
  out.softcap = options.softcap;
  if (!options.causal.empty()) out.causality = Causality::kCausal;
  if (!options.causal.empty() && options.causal != "true") {
    if (!options.corner.empty())
      return invalid_argument("--causal=" + options.causal + " and --corner both name a corner; give one");
    QKV_RETURN_IF_ERROR(set_corner("--causal", options.causal, out));
  }
  if (!options.corner.empty()) QKV_RETURN_IF_ERROR(set_corner("--corner", options.corner, out));
  if (!options.window.empty()) {
    QKV_ASSIGN_OR_RETURN(out.window, parse_window(options.window));
  }
  return out;
}

Result<Window> parse_window(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto left = parse_integer(text.substr(0, comma));
  const auto right = comma == std::string::npos ? std::nullopt : parse_integer(text.substr(comma + 1));
  if (!left || !right)
    return invalid_argument("--window '" + text + "' is not LEFT,RIGHT; for example 255,0 (-1 leaves a side open)");
  return Window{*left, *right};
}

Result<Layout> parse_layout(const std::string& text) {
  for (Layout layout : {Layout::kBHTD, Layout::kBTHD})
    if (text == to_string(layout)) return layout;
  return invalid_argument("--layout '" + text + "' is unknown; expected bhtd or bthd");
}

std::optional<std::vector<double>> parse_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0') return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace qkv::cli
