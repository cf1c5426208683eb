// What the parent and the child that runs a library's function say to each other: one block of shared memory, and one
// byte through a socket in each direction to hand it over.
//
// The child trusts the parent; the parent believes nothing that it reads here (a function that is wrong may write
// anywhere that the child can).
#ifndef QKV_SRC_CHECK_LIBRARY_PROTOCOL_H_
#define QKV_SRC_CHECK_LIBRARY_PROTOCOL_H_

#include <cstddef>
#include <cstdint>

#include "qkv/check_abi.h"

namespace qkv::check {

// Open in the child from its start; everything above is closed.
inline constexpr int kSocketFd = 3, kArenaFd = 4;

inline constexpr std::size_t kMaxRegions = 32, kTextSize = 4096;

// A tensor or a list in the arena. The child maps its pages between pages that nobody may touch.
struct Region {
  char name[16];             // "k"
  std::uint64_t page_begin;  // of the arena, in bytes
  std::uint64_t page_bytes;  // whole pages of the machine
  std::uint64_t lead;        // from there to the first byte of the tensor
  std::uint64_t bytes;       // of the tensor
  std::uint64_t pointer_at;  // where in qkv_check_call its address belongs
  std::uint32_t is_output;   // else the pages are read-only
};

enum class Order : std::uint32_t { kLoad, kCall };

enum class Outcome : std::uint32_t {
  kNothing,     // still at work, or ended before it could say anything
  kLoaded,      // kLoad
  kNoLibrary,   // text: dlerror()
  kNoSymbol,    // text: the names that the library exports, one a line
  kReturned,    // kCall: code
  kException,   // text: what it was
  kLostParent,  // a reply could not be sent
  kFault,       // the fields of Fault
  kNoMemory,    // text: the child could not map the tensors
};

enum class FaultPlace : std::uint32_t { kElsewhere, kBefore, kInside, kBehind, kStack };

struct Fault {
  std::int32_t signal;
  FaultPlace place;
  std::uint32_t region;    // of kBefore, kInside, kBehind
  std::uint32_t is_write;  // where the machine says so
  std::uint32_t is_known_access;
  std::int64_t byte;          // from the first one of the region; the address itself for kElsewhere
  std::uint32_t is_sent;      // by a program, to itself or another
  std::uint32_t has_address;  // false: it was sent, or the machine gives none
};

struct Control {
  Order order;
  char path[kTextSize], symbol[kTextSize];  // kLoad
  qkv_check_call call;                      // kCall; pointers are filled in by the child
  std::uint32_t region_count;
  Region regions[kMaxRegions];
  std::uint32_t alarm_seconds;  // the child ends itself after that, should the parent be gone

  Outcome outcome;
  std::int32_t code;
  Fault fault;
  char text[kTextSize];
};

inline constexpr std::size_t kControlBytes = 64 << 10;  // whole pages, however large the machine's are
static_assert(sizeof(Control) <= kControlBytes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_PROTOCOL_H_
