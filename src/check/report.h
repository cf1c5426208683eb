// A check's report as a document: JSON, for machines and for the page that shows it.
#ifndef QKV_SRC_CHECK_REPORT_H_
#define QKV_SRC_CHECK_REPORT_H_

#include <string>
#include <string_view>

#include "src/check/check.h"

namespace qkv::check {

std::string_view to_string(Verdict verdict);  // "right" "wrong" "cannot judge"
std::string_view to_string(SubjectEnd end);   // "answered" "refused" "crashed" ...

// {"qkv", "kind": "check", "verdict", "headline", "subject", "probes", "mistakes", "policies", "invariants", ...}; the
// fields are described in docs/check.md. Numbers that JSON has not are the texts "NaN" "Infinity" "-Infinity".
std::string to_json(const CheckReport& report);

// The document inside the page that shows it: one file for a browser. `page` is what web/report.html is built into,
// with an empty element for the document; no '<' is left in it, so that nothing it says can end that element or begin
// another. Errors: kUnsupported for a page without that element.
Result<std::string> to_html(std::string_view page, std::string_view document);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_REPORT_H_
