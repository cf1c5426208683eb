// The tensors of a call in shared memory, and what became of them.
#ifndef QKV_SRC_CHECK_LIBRARY_CALL_MEMORY_H_
#define QKV_SRC_CHECK_LIBRARY_CALL_MEMORY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/check/library/arena.h"
#include "src/check/library/call_slots.h"

namespace qkv::check {

// Which side of every tensor lies at a page that nobody may touch.
enum class Edge { kEnd, kBegin };

// What an element that is to be written holds before.
enum class Fill { kMark, kZero };

// Where each slot lies in the arena; the child's copy is not to be relied on.
using Regions = std::vector<Region>;

// Fills the arena and its control block for one call. Every byte that is no element of a tensor is Placed::kMark.
// `alignment` is that of first elements (a power of two); it may keep a tensor's end off the edge. Errors: as
// Arena::reserve.
Result<Regions> lay_out(const CallSlots& made, Edge edge, Fill fill, std::size_t alignment, Arena& arena);

// Copies of the outputs, of their own shapes, row-major. Errors: kOutOfMemory.
Result<SubjectOutputs> read_back(const CallSlots& made, const Regions& regions, const Arena& arena);

// "before the start of o" if a byte there is not what lay_out() has put beside and between the elements of outputs; ""
// if all are.
std::string damage(const CallSlots& made, const Regions& regions, const Arena& arena);

// What a function that answered did not do, from its outputs over marks and over zeros: "left 12 of the 198 elements of
// o unwritten, the first o(0,0,1,0)". "" if nothing is left open. An lse that nobody touched becomes absent in `marks`.
std::string omission(const CallSlots& made, SubjectOutputs& marks, SubjectOutputs& zeros);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CALL_MEMORY_H_
