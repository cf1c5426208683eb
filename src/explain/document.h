// The JSON document of a computation: what docs/explain.md describes.
#ifndef QKV_SRC_EXPLAIN_DOCUMENT_H_
#define QKV_SRC_EXPLAIN_DOCUMENT_H_

#include <string>
#include <vector>

#include "qkv/reference.h"
#include "src/explain/differences.h"
#include "src/explain/edit.h"
#include "src/explain/look.h"
#include "src/explain/request.h"

namespace qkv {

// Everything that goes into a document.
struct Explained {
  const Request& request;
  const Trace& trace;
  const Look& look;
  const std::vector<Edit>& edits;
  const Differences& differences;
};

// One field a line and one stage a line, so that two documents can be compared with diff.
std::string write_document(const Explained& all);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_DOCUMENT_H_
