// The smallest case that fails, as a file.
#ifndef QKV_APPS_CLI_CHECK_REPRO_H_
#define QKV_APPS_CLI_CHECK_REPRO_H_

#include <string>

#include "apps/cli/console.h"
#include "qkv/problem.h"
#include "src/check/check.h"

namespace qkv::cli {

// Asks a report's smallest problem once more and writes its inputs under their names, what came (o, lse, dq ...) and
// what is right (want_o, want_lse ..., f64), with the problem's line in the metadata, and tells how to ask the file;
// `accept_flags` are those of the run. The path's ending chooses the format. Nothing is written where nothing fails.
// Errors: those of write_tensor_file(); kInvalidArgument for an .npy, which holds one tensor.
Status write_repro(check::Subject& subject, const check::CheckReport& report, const std::string& path,
                   const std::string& accept_flags, Console& console);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_REPRO_H_
