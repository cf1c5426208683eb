// Whether the tolerances in use could have told a fake from the real thing.
#ifndef QKV_SRC_CHECK_POWER_H_
#define QKV_SRC_CHECK_POWER_H_

#include <span>
#include <string>
#include <vector>

#include "src/check/evidence.h"

namespace qkv::check {

// The fakes that every probe would have let pass: zeros, one constant, the mean of v, v in another order. A run in
// which there is one has not judged anything. Source: vacuous tolerances in public test suites, docs/check.md.
Result<std::vector<std::string>> powerless_fakes(std::span<const Evidence> evidence);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_POWER_H_
