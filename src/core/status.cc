// Names of the status codes.
#include "qkv/status.h"

namespace qkv {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid_argument";
    case StatusCode::kShapeMismatch: return "shape_mismatch";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kCorruptFile: return "corrupt_file";
    case StatusCode::kIo: return "io";
    case StatusCode::kOutOfMemory: return "out_of_memory";
    case StatusCode::kCancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace qkv
