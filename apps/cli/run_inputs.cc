// From names to views.
#include "apps/cli/run_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/core/four_axes.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

// A flag's numbers: a list as typed, or a stored tensor of rank 1.
Result<std::vector<double>> numbers_of(InputFiles& files, const std::string& flag, const std::string& text,
                                       const std::string& takes = "numbers (3,5)") {
  if (auto typed = parse_numbers(text)) return *typed;
  QKV_ASSIGN_OR_RETURN(const View<const void> view,
                       files.view(flag, text, flag + " takes " + takes + " or the name of a tensor."));
  if (view.shape.rank() != 1)
    return shape_mismatch(flag + ": " + text + " " + to_string(view.shape) + " has " +
                          std::to_string(view.shape.rank()) + " axes; expected one");
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(view.shape[0]));
  for (std::int64_t i = 0; i < view.shape[0]; ++i) numbers.push_back(element_as_double(view, i * view.strides[0]));
  return numbers;
}

Status read_integers(InputFiles& files, const std::string& flag, const std::string& text,
                     std::vector<std::int64_t>& into) {
  if (text.empty()) return {};
  QKV_ASSIGN_OR_RETURN(const std::vector<double> numbers, numbers_of(files, flag, text));
  for (double number : numbers) {
    if (std::nearbyint(number) != number || std::fabs(number) > 0x1p53)
      return invalid_argument(flag + ": " + std::to_string(number) + " is no whole number");
    into.push_back(static_cast<std::int64_t>(number));
  }
  return {};
}

Status read_slopes(InputFiles& files, const RunOptions& options, std::int64_t heads, std::vector<double>& into) {
  if (options.slopes == "alibi")
    into = alibi_slopes(heads);
  else if (!options.slopes.empty()) {
    QKV_ASSIGN_OR_RETURN(into, numbers_of(files, "--slopes", options.slopes, "alibi, numbers (0.5,0.25)"));
  }
  return {};
}

Status read_masks(InputFiles& files, const RunOptions& options, RunCase& run) {
  if (!options.keep.empty()) {
    QKV_ASSIGN_OR_RETURN(run.options.keep, files.view("--keep", options.keep));
  }
  if (!options.bias.empty()) {
    QKV_ASSIGN_OR_RETURN(run.options.bias, files.view("--bias", options.bias));
  }
  if (!options.key_mask.empty()) {
    QKV_ASSIGN_OR_RETURN(run.options.key_mask, files.view("--key-mask", options.key_mask));
    if (run.q_rank < 4 && run.options.key_mask.shape.rank() == 1)
      run.options.key_mask = padded(run.options.key_mask, 2);
  }
  return {};
}

Status read_numbers(InputFiles& files, const RunOptions& options, RunCase& run) {
  QKV_RETURN_IF_ERROR(read_integers(files, "--lengths", options.lengths, run.key_lengths));
  QKV_RETURN_IF_ERROR(read_integers(files, "--cu-seqlens-q", options.cu_seqlens_q, run.cu_seqlens_q));
  QKV_RETURN_IF_ERROR(read_integers(files, "--cu-seqlens-k", options.cu_seqlens_k, run.cu_seqlens_k));
  const std::int64_t heads = run.inputs.q.shape.rank() == 4 ? run.inputs.q.shape[1] : 0;
  QKV_RETURN_IF_ERROR(read_slopes(files, options, heads, run.slopes));
  if (!options.sinks.empty()) {
    QKV_ASSIGN_OR_RETURN(run.sinks, numbers_of(files, "--sinks", options.sinks));
  }
  run.options.key_lengths = run.key_lengths;
  run.options.cu_seqlens_q = run.cu_seqlens_q;
  run.options.cu_seqlens_k = run.cu_seqlens_k;
  run.options.slopes = run.slopes;
  run.options.sinks = run.sinks;
  return {};
}

// o as it will be in the file: in the order of its axes, and with as many as q.
Dims shape_of_o(const RunCase& run) {
  const bool tokens_first = run.layout == Layout::kBTHD;
  Dims shape;
  if (run.q_rank == 4) shape.push_back(run.shape.batch);
  if (run.q_rank >= 3 && !tokens_first) shape.push_back(run.shape.query_heads);
  shape.push_back(run.shape.query_length);
  if (run.q_rank >= 3 && tokens_first) shape.push_back(run.shape.query_heads);
  shape.push_back(run.shape.value_width);
  return shape;
}

Status read_gradients(InputFiles& files, const RunOptions& options, RunCase& run) {
  QKV_ASSIGN_OR_RETURN(const View<const void> d_o, files.view("--do", options.d_o.empty() ? "do" : options.d_o));
  run.d_o = with_four_axes(d_o, run.layout);
  if (!options.d_lse.empty()) {
    QKV_ASSIGN_OR_RETURN(const View<const void> d_lse, files.view("--dlse", options.d_lse));
    run.d_lse = padded(d_lse, 3);
  }
  return check_output_gradients(run.shape, run.d_o, run.d_lse);
}

Status read_wanted(InputFiles& files, const RunOptions& options, RunCase& run) {
  QKV_ASSIGN_OR_RETURN(run.want, files.view("--compare", options.compare));
  const std::string want = "--compare: " + options.compare + " is " + std::string(to_string(run.want.dtype));
  if (!is_floating(run.want.dtype)) return shape_mismatch(want + "; expected f64, f32, bf16 or f16");
  const std::string found = to_string(run.want.shape), expected = to_string(shape_of_o(run));
  if (found != expected) return shape_mismatch(want + " " + found + ", but o is " + expected);
  return {};
}

}  // namespace

Result<InputFiles> InputFiles::open(const std::vector<std::string>& paths) {
  InputFiles files;
  for (const std::string& path : paths) {
    QKV_ASSIGN_OR_RETURN(TensorFile file, TensorFile::open(path));
    files.files_.push_back(std::move(file));
  }
  return files;
}

Result<View<const void>> InputFiles::view(const std::string& flag, const std::string& name, const std::string& hint) {
  TensorFile* holder = nullptr;
  std::string names;
  for (TensorFile& file : files_) {
    if (file.find(name) != nullptr) {
      if (holder != nullptr)
        return invalid_argument("both " + holder->path() + " and " + file.path() + " hold '" + name +
                                "'; give one of them only");
      holder = &file;
    }
    for (const StoredTensor& tensor : file.tensors()) names += (names.empty() ? "" : " ") + tensor.name;
  }
  if (holder == nullptr)
    return invalid_argument(flag + ": no tensor '" + name + "'; the files hold: " + names + "\n" +
                            (hint.empty() ? "Name another with " + flag + "." : hint));
  return holder->view(name);
}

std::vector<std::string> InputFiles::strings(const std::string& name) {
  for (TensorFile& file : files_)
    if (Result<std::vector<std::string>> found = file.strings(name); found.is_ok()) return *found;
  return {};
}

bool InputFiles::hold(const std::string& name) const {
  return std::any_of(files_.begin(), files_.end(), [&](const TensorFile& file) { return file.find(name) != nullptr; });
}

RunOptions with_named_tensors(const InputFiles& files, RunOptions options, std::vector<NamedUse>& used) {
  const std::pair<NamedUse, std::string*> named[] = {{{"keep", "--keep"}, &options.keep},
                                                     {{"bias", "--bias"}, &options.bias},
                                                     {{"key_mask", "--key-mask"}, &options.key_mask},
                                                     {{"slopes", "--slopes"}, &options.slopes},
                                                     {{"sinks", "--sinks"}, &options.sinks},
                                                     {{"key_lengths", "--lengths"}, &options.lengths},
                                                     {{"cu_seqlens_q", "--cu-seqlens-q"}, &options.cu_seqlens_q},
                                                     {{"cu_seqlens_k", "--cu-seqlens-k"}, &options.cu_seqlens_k}};
  for (const auto& [use, option] : named) {
    if (*option == "none") {
      option->clear();
    } else if (option->empty() && files.hold(use.name)) {
      *option = use.name;
      used.push_back(use);
    }
  }
  return options;
}

Status InputFiles::refuse_as_output(const std::string& path) const {
  std::error_code ignored;  // a path that does not exist is no input
  for (const TensorFile& file : files_)
    if (std::filesystem::equivalent(path, file.path(), ignored))
      return invalid_argument(path + " is an input and would be overwritten; write to another file");
  return {};
}

Result<RunCase> make_run_case(InputFiles& files, const RunOptions& options) {
  RunCase run;
  QKV_RETURN_IF_ERROR(check_corner(options));
  QKV_ASSIGN_OR_RETURN(run.options, positions_and_scale(options));
  QKV_ASSIGN_OR_RETURN(run.layout, parse_layout(options.layout));
  QKV_ASSIGN_OR_RETURN(const View<const void> q, files.view("--q", options.q));
  QKV_ASSIGN_OR_RETURN(const View<const void> k, files.view("--k", options.k));
  QKV_ASSIGN_OR_RETURN(const View<const void> v, files.view("--v", options.v));
  run.q_rank = q.shape.rank();
  run.k_rank = k.shape.rank();
  run.v_rank = v.shape.rank();
  run.inputs = {with_four_axes(q, run.layout), with_four_axes(k, run.layout), with_four_axes(v, run.layout)};
  QKV_RETURN_IF_ERROR(read_masks(files, options, run));
  QKV_RETURN_IF_ERROR(read_numbers(files, options, run));
  QKV_ASSIGN_OR_RETURN(run.shape, check_attention(run.inputs, run.options, TypeRule::kSameType));
  if (options.backward) QKV_RETURN_IF_ERROR(read_gradients(files, options, run));
  if (!options.compare.empty()) QKV_RETURN_IF_ERROR(read_wanted(files, options, run));
  return run;
}

Problem problem_of(const RunCase& run, const RunOptions& options) {
  Problem problem;
  problem.batch = run.shape.batch;
  problem.query_heads = run.shape.query_heads;
  problem.kv_heads = run.shape.kv_heads;
  problem.query_length = run.shape.query_length;
  problem.key_length = run.shape.key_length;
  problem.width = run.shape.width;
  problem.value_width = run.shape.value_width;
  problem.causality = run.options.causality;
  problem.corner = run.options.corner;
  problem.offset = run.options.offset;
  problem.window = run.options.window;
  if (run.options.keep.is_present()) problem.keep = run.options.keep.shape;
  problem.key_mask = run.options.key_mask.is_present();
  if (run.options.bias.is_present()) problem.bias = run.options.bias.shape;
  problem.key_lengths = run.key_lengths;
  problem.cu_seqlens_q = run.cu_seqlens_q;
  problem.cu_seqlens_k = run.cu_seqlens_k;
  problem.slopes = !run.slopes.empty();
  problem.sinks = !run.sinks.empty();
  problem.scale = run.options.scale;
  problem.softcap = run.options.softcap;
  problem.dtype = run.inputs.q.dtype;
  problem.layout = run.layout;
  problem.lse = options.lse;
  problem.backward = options.backward;
  return problem;
}

}  // namespace qkv::cli
