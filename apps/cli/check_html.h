// `qkv check --html`: the report as a page in one file.
#ifndef QKV_APPS_CLI_CHECK_HTML_H_
#define QKV_APPS_CLI_CHECK_HTML_H_

#include <string>

#include "src/check/check.h"
#include "src/io/atomic_file.h"

namespace qkv::cli {

// A file that is opened before the check, which may take long, and that appears when the report is whole.
class CheckHtml {
 public:
  // Errors: kUnsupported in a program without its page; kIo if the file cannot be written.
  static Result<CheckHtml> create(const std::string& path);
  Status write(const check::CheckReport& report);

 private:
  CheckHtml(AtomicFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  AtomicFile file_;
  std::string path_;
};

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_HTML_H_
