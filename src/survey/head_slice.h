// One head of one batch entry as a call of its own.
#ifndef QKV_SRC_SURVEY_HEAD_SLICE_H_
#define QKV_SRC_SURVEY_HEAD_SLICE_H_

#include <cstdint>
#include <vector>

#include "qkv/attention.h"

namespace qkv {

struct HeadSlice {
  AttentionInputs inputs;  // q [1,1,Tq,D], k [1,1,Tk,D], v [1,1,Tk,Dv] or absent
  AttentionOptions options;

  // Constraint: the call was checked; batch and head lie inside it; spans of `given` that have an entry a sequence
  // outlive this.
  HeadSlice(const AttentionInputs& all, const AttentionOptions& given, std::int64_t batch, std::int64_t head);

 private:
  std::vector<std::int64_t> key_length_;  // what `options` points to; a move leaves them where they are
  std::vector<double> slope_, sink_;
};

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_HEAD_SLICE_H_
