// How tasks of the backward pass wait for those with smaller numbers, which have all been begun: for rows that they
// measure, for memory, and for their turn to add to dq, so that sums have one order whatever the threads.
#ifndef QKV_SRC_OPS_ATTENTION_TURNS_H_
#define QKV_SRC_OPS_ATTENTION_TURNS_H_

#include <cstdint>

#include "src/ops/attention/backward.h"

namespace qkv {

// Returns once *counter == turn; what was written before its last change is then visible.
void wait_for_turn(std::int32_t* counter, std::int64_t turn);
// Ends turn `turn`.
void end_turn(std::int32_t* counter, std::int64_t turn);

// Returns once nobody needs the memory for rests that KV head `head` of the B·Hkv gets.
void wait_for_rests(const BackwardCall& call, std::int64_t head);
// Says that one more panel of it has ended.
void end_panel(const BackwardCall& call, std::int64_t head);

// Returns once the row terms of a query head are there, if any are asked for.
void wait_for_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head);
// Says that one more task has measured its rows of a query head.
void end_rows(const BackwardCall& call, std::int64_t batch, std::int64_t head);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_TURNS_H_
