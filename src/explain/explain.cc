// Answers a request.
#include "qkv/explain.h"

namespace qkv {

Result<std::string> explain(std::string_view /*request*/) { return unsupported("explain: not in this build"); }

}  // namespace qkv
