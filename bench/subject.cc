// Which pass is whose.
#include "bench/subject.h"

#include "bench/subjects.h"

namespace qkv::bench {

Result<std::unique_ptr<Subject>> make_subject(const Request& request) {
  switch (request.pass) {
    case Pass::kForward: return make_forward_subject(request.problem);
    case Pass::kProject: return make_project_subject(request.problem);
  }
  return invalid_argument("there is no such pass");
}

}  // namespace qkv::bench
