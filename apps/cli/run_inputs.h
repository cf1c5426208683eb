// The tensors of `qkv run`, found by name in one or several files and given the axes that attention wants.
#ifndef QKV_APPS_CLI_RUN_INPUTS_H_
#define QKV_APPS_CLI_RUN_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/run_options.h"
#include "qkv/attention.h"
#include "qkv/problem.h"
#include "src/core/check_attention.h"
#include "src/io/tensor_file.h"

namespace qkv::cli {

// Several files read as one.
class InputFiles {
 public:
  // Errors: those of TensorFile::open, with the path.
  static Result<InputFiles> open(const std::vector<std::string>& paths);

  // The tensor that `flag` asks for. Errors: kInvalidArgument if no file or more than one has the name (the message
  // lists the names that exist and ends with `hint`, by default that the flag can name another).
  Result<View<const void>> view(const std::string& flag, const std::string& name, const std::string& hint = "");

  // A list of strings of that name, of the first file that has one; nothing if none does.
  std::vector<std::string> strings(const std::string& name);

  // Whether a file has a tensor of that name.
  bool hold(const std::string& name) const;

  // Refuses a path that is one of the files, whatever its spelling.
  Status refuse_as_output(const std::string& path) const;

 private:
  std::vector<TensorFile> files_;
};

// One call of attention. Owns the numbers that `options` points to; its views live as long as the files.
struct RunCase {
  AttentionInputs inputs;  // rank 4, heads before tokens, strided if the file has tokens first
  AttentionOptions options;
  AttentionShape shape;
  View<const void> d_o, d_lse;  // with --backward: [B,H,T,Dv], [B,H,T] (absent if not given)
  View<const void> want;        // with --compare: what o should be, in the shape of the file
  Layout layout = Layout::kBHTD;
  int q_rank = 4, k_rank = 4, v_rank = 4;  // in the file; o, dq, dk, dv get the rank of their like
  std::vector<std::int64_t> key_lengths, cu_seqlens_q, cu_seqlens_k;
  std::vector<double> slopes, sinks;
};

// A tensor that is used because of its name, and the option that would name another.
struct NamedUse {
  std::string name, option;
};

// `options` with what the files say by a tensor's name: keep, bias, key_mask, slopes, sinks, key_lengths, cu_seqlens_q
// and cu_seqlens_k that no option gives are used as `qkv explain` uses them, and added to `used`; "none" is no name.
RunOptions with_named_tensors(const InputFiles& files, RunOptions options, std::vector<NamedUse>& used);

// Everything checked: shapes, types, options. Errors: of the files, the flags, and of check_attention().
Result<RunCase> make_run_case(InputFiles& files, const RunOptions& options);

// The line that names this case.
Problem problem_of(const RunCase& run, const RunOptions& options);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_RUN_INPUTS_H_
