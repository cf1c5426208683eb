// Puts the report into the page that is inside this program.
#include "apps/cli/check_html.h"

#include <utility>

#include "apps/server/embedded_page.h"
#include "src/check/report.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

Status cannot_write(const std::string& path, const Status& why) {
  return {why.code(), "cannot write " + path + ": " + why.message()};
}

}  // namespace

Result<CheckHtml> CheckHtml::create(const std::string& path) {
  if (server::embedded_report().empty())
    return unsupported(
        "--html: this qkv was built without its page\nBuild it with -DQKV_EMBED_PAGE=ON, which needs nodejs and npm, "
        "as "
        "make build does; --json has the same report");
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file.is_ok()) return cannot_write(path, file.status());
  return CheckHtml(std::move(file).value(), path);
}

Status CheckHtml::write(const check::CheckReport& report) {
  QKV_ASSIGN_OR_RETURN(const std::string html, check::to_html(server::embedded_report(), to_json(report)));
  const Status written = file_.write(html);
  const Status status = written.is_ok() ? file_.commit() : written;
  return status.is_ok() ? status : cannot_write(path_, status);
}

}  // namespace qkv::cli
