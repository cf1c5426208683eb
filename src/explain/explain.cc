// Answers a request: reads it, runs the reference, writes the document.
#include "qkv/explain.h"

#include "src/core/status_macros.h"
#include "src/explain/compute.h"
#include "src/explain/differences.h"
#include "src/explain/document.h"
#include "src/explain/edit.h"
#include "src/explain/fields.h"
#include "src/explain/json_read.h"
#include "src/explain/look.h"
#include "src/explain/request.h"
#include "src/explain/scores.h"
#include "src/explain/shapes.h"

namespace qkv {
namespace {

Result<std::string> explain_numbers(const Json& json) {
  QKV_ASSIGN_OR_RETURN(Request request, parse_request(json));
  QKV_RETURN_IF_ERROR(check_size(request));
  QKV_ASSIGN_OR_RETURN(const std::vector<Edit> edits, apply_edits(request));
  QKV_ASSIGN_OR_RETURN(const Computation computation, Computation::create(request));
  QKV_ASSIGN_OR_RETURN(const Trace trace, computation.trace());
  QKV_ASSIGN_OR_RETURN(const Look look, find_look(request, trace));
  Differences differences;
  if (request.backward) {
    QKV_ASSIGN_OR_RETURN(differences, central_differences(request, computation, trace));
  }
  return write_document({request, trace, look, edits, differences});
}

}  // namespace

Result<std::string> explain(std::string_view request) {
  QKV_ASSIGN_OR_RETURN(const Json json, read_json(request));
  std::string operation = "explain";
  if (json.is_object()) QKV_RETURN_IF_ERROR(Fields(json).read("op", operation));
  if (operation == "explain") return explain_numbers(json);
  if (operation == "shapes") return explain_shapes(json);
  if (operation == "scores") return explain_scores(json);
  return wrong_kind("op", Json(operation), "\"explain\", \"shapes\" or \"scores\"");
}

}  // namespace qkv
