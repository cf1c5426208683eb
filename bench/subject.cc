// Which pass is whose.
#include "bench/subject.h"

#include "bench/subjects.h"

namespace qkv::bench {

Result<std::unique_ptr<Subject>> make_subject(const Request& request) {
  switch (request.pass) {
    case Pass::kForward: return make_forward_subject(request.problem);
    case Pass::kBackward: return make_backward_subject(request.problem, false);
    case Pass::kForwardBackward: return make_backward_subject(request.problem, true);
    case Pass::kDecode: return make_decode_subject(request.problem);
    case Pass::kLayer: return make_layer_subject(request.problem, false);
    case Pass::kLayerForwardBackward: return make_layer_subject(request.problem, true);
    case Pass::kProject: return make_project_subject(request.problem);
  }
  return invalid_argument("there is no such pass");
}

}  // namespace qkv::bench
