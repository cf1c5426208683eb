// The problems that no pair of options shows, each operation's own.
#ifndef QKV_SRC_CHECK_SPECIAL_PROBES_H_
#define QKV_SRC_CHECK_SPECIAL_PROBES_H_

#include <vector>

#include "src/check/probes.h"

namespace qkv::check {

// Without seeds, and without what special_probes() still fills in.
std::vector<Problem> special_attention(const ProbeOptions& options);
std::vector<Problem> special_decodes(const ProbeOptions& options);
std::vector<Problem> special_layers(const ProbeOptions& options);
std::vector<Problem> special_norms(const ProbeOptions& options);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_SPECIAL_PROBES_H_
