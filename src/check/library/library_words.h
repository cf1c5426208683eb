// Sentences for people about how a call of a library's function ended.
#ifndef QKV_SRC_CHECK_LIBRARY_LIBRARY_WORDS_H_
#define QKV_SRC_CHECK_LIBRARY_LIBRARY_WORDS_H_

#include <string>
#include <string_view>

#include "src/check/library/call_slots.h"
#include "src/check/library/child_process.h"
#include "src/check/library/protocol.h"

namespace qkv::check {

// What a fault was: "it read past the end of k (element 420, the last is 419)". `slots` are those of the call, none
// while the library was loaded.
std::string words_of_fault(const Fault& fault, const std::vector<Slot>& slots);

// kReadOutside, kWroteOutside, or kCrashed.
SubjectEnd end_of_fault(const Fault& fault, const std::vector<Slot>& slots);

// "was stopped by SIGSEGV", "ended the process by exit(3)", "gave no answer in 10 s".
std::string words_of_exchange(const Exchange& exchange, std::chrono::milliseconds limit);

// `; it printed "..."` with the end of what was printed, on one line; "" if nothing was.
std::string words_of_printed(std::string_view printed);

// A sentence on one line: control characters as spaces, cut to `most` bytes from the front.
std::string on_one_line(std::string_view text, std::size_t most);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_LIBRARY_WORDS_H_
