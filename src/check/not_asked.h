// An option that was meant and not said: given files hold none of them.
#ifndef QKV_SRC_CHECK_NOT_ASKED_H_
#define QKV_SRC_CHECK_NOT_ASKED_H_

#include <span>
#include <string>

#include "src/check/evidence.h"
#include "src/check/mistake.h"

namespace qkv::check {

// The option, as a problem's line has it ("causal=top_left"), under which a failing answer would be right; "" if there
// is none. Cost: one variant for each that is tried. Errors: as compute_variant.
Result<std::string> option_not_asked(const Evidence& one, std::span<const Mistake> accepted);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_NOT_ASKED_H_
