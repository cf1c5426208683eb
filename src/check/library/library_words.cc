// From numbers of the operating system to words.
#include "src/check/library/library_words.h"

#include <csignal>
#include <cstring>

#include "src/core/shortest.h"

namespace qkv::check {
namespace {

constexpr std::int64_t kNullPage = 65536;  // an index into a tensor that is absent lands here
constexpr std::size_t kPrintedShown = 200;

bool is_in_tensor(const Fault& fault, const std::vector<Slot>& slots) {
  const bool names_region =
      fault.place == FaultPlace::kBefore || fault.place == FaultPlace::kInside || fault.place == FaultPlace::kBehind;
  return names_region && fault.region < slots.size();
}

// As the memory is strided: an element's place, not its index.
std::string element_words(const Fault& fault, const Slot& slot) {
  const std::int64_t size = slot.element_bytes;
  const std::int64_t element = (fault.byte >= 0 ? fault.byte : fault.byte - size + 1) / size;
  const auto count = static_cast<std::int64_t>(slot.bytes) / size;
  return " (element " + std::to_string(element) + ", where 0 to " + std::to_string(count - 1) + " are its own)";
}

}  // namespace

std::string words_of_fault(const Fault& fault, const std::vector<Slot>& slots) {
  if (fault.is_sent != 0) return "a program sent it that signal";
  if (fault.has_address == 0)
    return "the processor gave no address: a vector access that is not aligned, say (see --alignment)";
  const std::string did = fault.is_known_access == 0 ? "touched memory" : fault.is_write != 0 ? "wrote" : "read";
  const bool is_read = fault.is_known_access != 0 && fault.is_write == 0;
  if (is_in_tensor(fault, slots)) {
    const Slot& slot = slots[fault.region];
    // Inputs may be read: what is no write there is a jump.
    if (fault.place == FaultPlace::kInside && is_read) return "it called " + slot.name + " as if it were a function";
    if (fault.place == FaultPlace::kInside) return "it wrote into " + slot.name + ", which is an input";
    const std::string side = fault.place == FaultPlace::kBefore ? " before the start of " : " past the end of ";
    return "it " + did + side + slot.name + element_words(fault, slot);
  }
  if (fault.place == FaultPlace::kStack) return "its stack ran over";
  if (fault.byte >= 0 && fault.byte < kNullPage)
    return "it " + did + " through a null pointer (a tensor that is absent has one)";
  return "it " + did + " where there is no memory, far from every tensor";
}

SubjectEnd end_of_fault(const Fault& fault, const std::vector<Slot>& slots) {
  if (!is_in_tensor(fault, slots)) return SubjectEnd::kCrashed;
  const bool is_read = fault.is_known_access != 0 && fault.is_write == 0;
  if (fault.place == FaultPlace::kInside) return is_read ? SubjectEnd::kCrashed : SubjectEnd::kWroteOutside;
  if (fault.is_known_access == 0) return SubjectEnd::kCrashed;
  return is_read ? SubjectEnd::kReadOutside : SubjectEnd::kWroteOutside;
}

std::string words_of_exchange(const Exchange& exchange, std::chrono::milliseconds limit) {
  switch (exchange.end) {
    case Exchange::End::kReplied: return "answered";
    case Exchange::End::kCancelled: return "was given up";
    case Exchange::End::kHung:
      return "gave no answer in " + shortest(std::chrono::duration<double>(limit).count()) + " s";
    case Exchange::End::kExited: return "ended the process by exit(" + std::to_string(exchange.number) + ")";
    case Exchange::End::kSignalled: break;
  }
  const char* name = ::sigabbrev_np(exchange.number);
  return "was stopped by " +
         (name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(exchange.number));
}

std::string on_one_line(std::string_view text, std::size_t most) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  std::string line = text.size() > most ? "…" : "";
  std::size_t begin = text.size() > most ? text.size() - most : 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;  // whole characters
  for (const char c : text.substr(begin)) line += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c;
  return line;
}

std::string words_of_printed(std::string_view printed) {
  const std::string line = on_one_line(printed, kPrintedShown);
  return line.empty() ? "" : "; it printed \"" + line + "\"";
}

}  // namespace qkv::check
