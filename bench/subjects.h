// The passes, one file each; make_subject() picks.
#ifndef QKV_BENCH_SUBJECTS_H_
#define QKV_BENCH_SUBJECTS_H_

#include <memory>

#include "bench/subject.h"

namespace qkv::bench {

// attention_forward. Long outputs are checked on runs of rows.
Result<std::unique_ptr<Subject>> make_forward_subject(const Problem& problem);

// attention_backward, with attention_forward before it in the same call or not. dq is checked on runs of rows, and
// every gradient of a shortened problem.
Result<std::unique_ptr<Subject>> make_backward_subject(const Problem& problem, bool with_forward);

// attention_decode of Tq new tokens that become the last ones of Tk. Long outputs are checked on runs of rows.
Result<std::unique_ptr<Subject>> make_decode_subject(const Problem& problem);

// layer_forward, and layer_backward after it or not, on a layer of the problem's size; see layer_tensors.h. Its first
// tokens are checked.
Result<std::unique_ptr<Subject>> make_layer_subject(const Problem& problem, bool with_backward);

// The fused projection of a layer's size: x [B·T,Hq·D] times [Hq·D,(Hq+2·Hkv)·D]. Its first and last rows are checked.
Result<std::unique_ptr<Subject>> make_project_subject(const Problem& problem);

}  // namespace qkv::bench

#endif  // QKV_BENCH_SUBJECTS_H_
