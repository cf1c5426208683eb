// Errors that look like noise, told by their size.
#ifndef QKV_SRC_CHECK_NOISE_H_
#define QKV_SRC_CHECK_NOISE_H_

#include <span>

#include "src/check/evidence.h"
#include "src/check/mistake.h"

namespace qkv::check {

// Whether a mistake can only be told by the size of its noise: nobody knows the order of another's sums.
bool is_noise(const Mistake& mistake);

// Whether the errors of the failing answers are as large as the mistake's: the root mean squares of o, and of lse,
// probe by probe, have a ratio whose median lies between 1/3 and 3. A type of fewer bits would be off by 8.
Result<bool> has_noise_of(const Mistake& mistake, std::span<const Evidence* const> failing,
                          std::span<const Mistake> accepted);

// The factor by which the answers' o is the wanted one's, in the least squares; 1 if there is none to tell.
double output_factor(std::span<const Evidence* const> failing);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_NOISE_H_
