// From the options of `qkv explain` and a file to a request of explain.
#ifndef QKV_APPS_CLI_EXPLAIN_REQUEST_H_
#define QKV_APPS_CLI_EXPLAIN_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qkv/status.h"

namespace qkv::cli {

struct ExplainOptions {
  std::string what;  // an example's name or a file's path
  std::string row;
  std::optional<std::int64_t> head, batch;
  std::string causal;  // "" no; "true" yes; else a corner
  std::string corner, window;
  bool no_scale = false;
  std::optional<double> scale, softcap;
  std::vector<std::string> edits;
  bool backward = false;
  std::optional<double> step;
  bool json = false;  // the document is wanted, not its page
};

// Whether `what` names an example of the library rather than a file.
bool is_example(const std::string& what);

// Errors: kIo, kCorruptFile: the file; kInvalidArgument: neither an example nor a file, a tensor too large to explain,
// an option whose number is not finite, a request that has no page.
Result<std::string> explain_request(const ExplainOptions& options);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_REQUEST_H_
