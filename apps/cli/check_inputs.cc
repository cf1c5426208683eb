// From files to a case, by way of what `qkv run` reads.
#include "apps/cli/check_inputs.h"

#include <utility>

#include "apps/cli/check_layer_inputs.h"
#include "apps/cli/run_inputs.h"
#include "src/core/four_axes.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

// The options of a problem's line as `qkv run` has them.
RunOptions options_of(const Problem& problem) {
  RunOptions options;
  if (problem.causality == Causality::kCausal) options.causal = "true";
  if (problem.corner == Corner::kOffset)
    options.corner = std::to_string(problem.offset);
  else
    options.corner = std::string(to_string(problem.corner));
  if (problem.window != Window{})
    options.window = std::to_string(problem.window.left) + "," + std::to_string(problem.window.right);
  options.scale = problem.scale;
  options.softcap = problem.softcap;
  options.layout = std::string(to_string(problem.layout));
  for (const std::int64_t length : problem.key_lengths)
    options.lengths += (options.lengths.empty() ? "" : ",") + std::to_string(length);
  return options;
}

// Words of the line that files say otherwise. Only those that were written are compared.
Status check_sizes(const std::string& line, const Problem& said, const Problem& found) {
  const auto written = [&](const char* letter) { return line.find(std::string(" ") + letter) != std::string::npos; };
  const auto differ = [&](const char* what, const std::string& said_text, const std::string& found_text) {
    return shape_mismatch("--problem says " + std::string(what) + said_text + ", the files have " + what + found_text);
  };
  if (written("B") && said.batch != found.batch)
    return differ("B", std::to_string(said.batch), std::to_string(found.batch));
  const auto pair = [](std::int64_t a, std::int64_t b, const char* between) {
    return std::to_string(a) + between + std::to_string(b);
  };
  if (written("H") && (said.query_heads != found.query_heads || said.kv_heads != found.kv_heads))
    return differ("H", pair(said.query_heads, said.kv_heads, "/"), pair(found.query_heads, found.kv_heads, "/"));
  if (written("T") && (said.query_length != found.query_length || said.key_length != found.key_length))
    return differ("T", pair(said.query_length, said.key_length, "x"), pair(found.query_length, found.key_length, "x"));
  if (written("D") && (said.width != found.width || said.value_width != found.value_width))
    return differ("D", pair(said.width, said.value_width, "/"), pair(found.width, found.value_width, "/"));
  return {};
}

Result<check::Placed> placed(View<const void> view, Layout layout) {
  if (!view.is_present()) return check::Placed();
  return check::place(view, {.layout = layout});
}

// A result by its name, with the axes that the case has: o dq dk dv [B,H,T,D], lse [B,H,T].
Result<Tensor> result(InputFiles& files, const std::string& name, const Dims& shape, Layout layout) {
  if (!files.hold(name)) return Tensor();
  QKV_ASSIGN_OR_RETURN(View<const void> view, files.view("--got", name));
  if (!is_floating(view.dtype))
    return shape_mismatch("--got: " + name + " is " + std::string(to_string(view.dtype)) +
                          "; expected f64, f32, bf16 or f16");
  const std::string found = to_string(view.shape);
  if (shape.rank() == 4) view = with_four_axes(view, layout);
  if (shape.rank() == 3) view = padded(view, 3);
  if (!(view.shape == shape))
    return shape_mismatch("--got: " + name + " is " + found + ", expected " + to_string(shape));
  return converted(view, view.dtype);
}

Result<check::SubjectOutputs> read_results(InputFiles& files, const RunCase& run) {
  const AttentionShape& shape = run.shape;
  const Dims rows{shape.batch, shape.query_heads, shape.query_length};
  const Dims o{shape.batch, shape.query_heads, shape.query_length, shape.value_width};
  check::SubjectOutputs got;
  QKV_ASSIGN_OR_RETURN(got.o, result(files, "o", o, run.layout));
  QKV_ASSIGN_OR_RETURN(got.lse, result(files, "lse", rows, run.layout));
  QKV_ASSIGN_OR_RETURN(got.dq, result(files, "dq", run.inputs.q.shape, run.layout));
  QKV_ASSIGN_OR_RETURN(got.dk, result(files, "dk", run.inputs.k.shape, run.layout));
  QKV_ASSIGN_OR_RETURN(got.dv, result(files, "dv", run.inputs.v.shape, run.layout));
  if (run.options.bias.is_present()) {
    QKV_ASSIGN_OR_RETURN(got.dbias, result(files, "dbias", run.options.bias.shape, Layout::kBHTD));
  }
  if (!run.sinks.empty()) {
    QKV_ASSIGN_OR_RETURN(got.dsinks, result(files, "dsinks", {shape.query_heads}, Layout::kBHTD));
  }
  return got;
}

// What the names of the tensors say where no line does.
Result<std::string> operation_of(const InputFiles& files) {
  if (!files.hold("x") || files.hold("q")) return std::string("attention");
  if (files.hold("wq") || files.hold("wqkv"))
    return invalid_argument(
        "--given holds a layer, and how many heads it has is in no file: add --problem \"layer H8\" (or H8/2), with "
        "causal and what else it has");
  return std::string("layernorm");
}

}  // namespace

Result<GivenCase> read_given_case(const std::vector<std::string>& given, const std::vector<std::string>& got,
                                  const std::string& problem) {
  QKV_ASSIGN_OR_RETURN(InputFiles inputs, InputFiles::open(given));
  QKV_ASSIGN_OR_RETURN(InputFiles results, InputFiles::open(got));
  std::string line = problem;
  if (line.empty()) {
    QKV_ASSIGN_OR_RETURN(line, operation_of(inputs));
  }
  QKV_ASSIGN_OR_RETURN(const Problem said, parse_any_problem(line));
  if (said.operation == Operation::kDecode)
    return unsupported(
        "--problem: a decode step in files is attention on the whole cache: give k and v with the new tokens, "
        "key_lengths, and --problem \"attention causal=bottom_right\"");
  if (check::is_layer(said)) {
    QKV_ASSIGN_OR_RETURN(GivenCase made, read_given_layer(inputs, results, said));
    QKV_RETURN_IF_ERROR(check_sizes(problem, said, made.asked.problem));
    return made;
  }
  RunOptions options = options_of(said);
  options.backward =
      results.hold("dq") || results.hold("dk") || results.hold("dv") || results.hold("dbias") || results.hold("dsinks");
  options.lse = results.hold("lse");
  if (!results.hold("o") && !options.backward && !options.lse)
    return invalid_argument("--got holds no o, lse, dq, dk, dv, dbias or dsinks: nothing to judge");
  if (options.backward && inputs.hold("dlse")) options.d_lse = "dlse";
  std::vector<NamedUse> used;
  options = with_named_tensors(inputs, options, used);
  QKV_ASSIGN_OR_RETURN(const RunCase run, make_run_case(inputs, options));
  GivenCase made;
  made.asked.problem = problem_of(run, options);
  made.asked.problem.dlse = run.d_lse.is_present();
  QKV_RETURN_IF_ERROR(check_sizes(problem, said, made.asked.problem));
  QKV_ASSIGN_OR_RETURN(made.got, read_results(results, run));
  if (made.got.o.is_present() && made.got.o.dtype() != made.asked.problem.dtype)
    made.asked.problem.out_dtype = made.got.o.dtype();
  check::Case& asked = made.asked;
  QKV_ASSIGN_OR_RETURN(asked.q, placed(run.inputs.q, run.layout));
  QKV_ASSIGN_OR_RETURN(asked.k, placed(run.inputs.k, run.layout));
  QKV_ASSIGN_OR_RETURN(asked.v, placed(run.inputs.v, run.layout));
  QKV_ASSIGN_OR_RETURN(asked.keep, placed(run.options.keep, Layout::kBHTD));
  QKV_ASSIGN_OR_RETURN(asked.key_mask, placed(run.options.key_mask, Layout::kBHTD));
  QKV_ASSIGN_OR_RETURN(asked.bias, placed(run.options.bias, Layout::kBHTD));
  QKV_ASSIGN_OR_RETURN(asked.d_o, placed(run.d_o, run.layout));
  QKV_ASSIGN_OR_RETURN(asked.d_lse, placed(run.d_lse, Layout::kBHTD));
  asked.slopes = run.slopes;
  asked.sinks = run.sinks;
  return made;
}

}  // namespace qkv::cli
