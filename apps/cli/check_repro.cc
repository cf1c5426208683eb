// Writes a case with its answer.
#include "apps/cli/check_repro.h"

#include <utility>
#include <vector>

#include "apps/cli/text.h"
#include "qkv/version.h"
#include "src/check/evidence.h"
#include "src/core/status_macros.h"
#include "src/io/tensor_file.h"

namespace qkv::cli {
namespace {

// A list as a tensor of rank 1; absent if it is empty.
template <class T>
Result<Tensor> listed(const std::vector<T>& values) {
  if (values.empty()) return Tensor();
  QKV_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(dtype_of<T>(), {static_cast<std::int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

// In the order of its axes in memory, as `--layout` names it: the file then reads back into the same problem.
View<const void> as_stored(View<const void> view, const Problem& problem) {
  return problem.layout == Layout::kBTHD && view.shape.rank() == kMaxRank ? swap_axes(view, 1, 2) : view;
}

void add(FileContents& contents, const std::string& name, View<const void> view) {
  if (view.is_present()) contents.tensors.push_back({name, view});
}

Status write_case(check::Subject& subject, const Problem& problem, const std::string& path) {
  QKV_ASSIGN_OR_RETURN(const FileFormat file_format, format_of_name(path));
  if (file_format == FileFormat::kNpy)
    return invalid_argument("--repro " + path + ": an .npy holds one tensor only; write to .safetensors or .npz");
  QKV_ASSIGN_OR_RETURN(check::Case asked, check::generate(problem));
  QKV_ASSIGN_OR_RETURN(check::SubjectAnswer answer, subject.run(asked));
  QKV_ASSIGN_OR_RETURN(const check::Evidence one, check::judge_answer(std::move(asked), std::move(answer), {}));
  const check::Case& made = one.asked;
  FileContents contents;
  for (const auto& [name, placed] :
       {std::pair("q", &made.q), std::pair("k", &made.k), std::pair("v", &made.v), std::pair("do", &made.d_o)})
    add(contents, name, as_stored(placed->view, problem));
  for (const auto& [name, placed] : {std::pair("keep", &made.keep), std::pair("key_mask", &made.key_mask),
                                     std::pair("bias", &made.bias), std::pair("dlse", &made.d_lse)})
    add(contents, name, placed->view);
  for (const auto& [name, placed] : {std::pair("stale_k", &made.stale_k), std::pair("stale_v", &made.stale_v)})
    add(contents, name, placed->view);
  for (const auto& [name, member] : check::kLayerTensors)
    add(contents, member == &check::LayerTensors::d_y ? "dy" : name, (made.layer.*member).view);
  QKV_ASSIGN_OR_RETURN(const Tensor slopes, listed(made.slopes));
  QKV_ASSIGN_OR_RETURN(const Tensor sinks, listed(made.sinks));
  QKV_ASSIGN_OR_RETURN(const Tensor cu_q, listed(problem.cu_seqlens_q));
  QKV_ASSIGN_OR_RETURN(const Tensor cu_k, listed(problem.cu_seqlens_k));
  for (const auto& [name, tensor] : {std::pair("slopes", &slopes), std::pair("sinks", &sinks),
                                     std::pair("cu_seqlens_q", &cu_q), std::pair("cu_seqlens_k", &cu_k)})
    if (tensor->is_present()) add(contents, name, tensor->view());
  for (const check::GivenTensor& given : check::given_tensors(one.answer.outputs, one.want)) {
    const bool is_statistic = given.name == std::string("lse") || given.name == std::string("dbias");
    add(contents, given.name, is_statistic ? given.got->view() : as_stored(given.got->view(), problem));
    add(contents, std::string("want_") + given.name,
        is_statistic ? given.want->view() : as_stored(given.want->view(), problem));
  }
  contents.metadata = {{"problem", format(problem)}, {"made_by", std::string("qkv ") + QKV_VERSION}};
  return write_tensor_file(path, file_format, contents);
}

}  // namespace

Status write_repro(check::Subject& subject, const check::CheckReport& report, const std::string& path,
                   const std::string& accept_flags, Console& console) {
  if (!report.shrunk) {
    console.err << "qkv check: no probe fails, so " << path << " was not written\n";
    return {};
  }
  QKV_RETURN_IF_ERROR(write_case(subject, *report.shrunk, path));
  const std::string file = shell_word(path);
  if (report.shrunk->operation == Operation::kDecode) {  // files hold no cache before and after a step
    console.err << "qkv check: wrote " << path << "; its verdict again: " << report.replay << "\n";
    return {};
  }
  console.err << "qkv check: wrote " << path << "; its verdict again: qkv check --given " << file << " --got " << file
              << " --problem \"" << format(*report.shrunk) << "\"" << accept_flags << "\n";
  return {};
}

}  // namespace qkv::cli
