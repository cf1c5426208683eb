// The case and the results of `qkv check --given ... --got ...`, read from files.
#ifndef QKV_APPS_CLI_CHECK_INPUTS_H_
#define QKV_APPS_CLI_CHECK_INPUTS_H_

#include <string>
#include <vector>

#include "src/check/generate.h"
#include "src/check/subject.h"

namespace qkv::cli {

struct GivenCase {
  check::Case asked;
  check::SubjectOutputs got;
};

// q, k, v and what belongs to them (keep, bias, key_mask, slopes, sinks, key_lengths, cu_seqlens_q, cu_seqlens_k, do,
// dlse) from the files `given`; o and, where they are there, lse, dq, dk, dv, dbias, dsinks from the files `got`.
// A layer's and a layernorm's: see check_layer_inputs.h. `problem` holds the options that no file can: causal, corner,
// window, scale, softcap, bthd; sizes in it are compared. Errors: those of the files; kInvalidArgument for an option in
// `problem` that the files say otherwise; kShapeMismatch.
Result<GivenCase> read_given_case(const std::vector<std::string>& given, const std::vector<std::string>& got,
                                  const std::string& problem);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_INPUTS_H_
