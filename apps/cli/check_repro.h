// The smallest case that fails, as a file.
#ifndef QKV_APPS_CLI_CHECK_REPRO_H_
#define QKV_APPS_CLI_CHECK_REPRO_H_

#include <string>

#include "qkv/problem.h"
#include "src/check/subject.h"

namespace qkv::cli {

// Asks the problem once more and writes its inputs under their names, what came (o, lse, dq ...) and what is right
// (want_o, want_lse ..., f64), with the problem's line in the metadata. The path's ending chooses the format.
// Errors: those of write_tensor_file(); kInvalidArgument for an .npy, which holds one tensor.
Status write_case(check::Subject& subject, const Problem& problem, const std::string& path);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_REPRO_H_
