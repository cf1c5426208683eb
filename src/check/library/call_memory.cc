// Pages for tensors, one tensor after the other.
#include "src/check/library/call_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/core/for_each_element.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

Region region_of(const Slot& slot, Edge edge, std::size_t alignment, std::size_t page_begin) {
  Region region{};
  slot.name.copy(region.name, sizeof(region.name) - 1);
  region.page_begin = page_begin;
  region.page_bytes = whole_pages(slot.bytes);
  region.lead = edge == Edge::kEnd ? (region.page_bytes - slot.bytes) / alignment * alignment : 0;
  region.bytes = slot.bytes;
  region.pointer_at = slot.pointer_at;
  region.is_output = slot.is_output() ? 1 : 0;
  return region;
}

const unsigned char* first_element(const Region& region, const Arena& arena) {
  return arena.at(region.page_begin + region.lead);
}

std::string index_words(const Dims& shape, std::int64_t number) {
  std::string words;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    words = std::to_string(number % shape[axis]) + (words.empty() ? "" : ",") + words;
    number /= shape[axis];
  }
  return "(" + words + ")";
}

}  // namespace

Result<Regions> lay_out(const CallSlots& made, Edge edge, Fill fill, std::size_t alignment, Arena& arena) {
  std::size_t tensor_bytes = 0;
  for (const Slot& slot : made.slots) tensor_bytes += whole_pages(slot.bytes);
  QKV_RETURN_IF_ERROR(arena.reserve(tensor_bytes));
  std::memset(arena.at(kControlBytes), Placed::kMark, tensor_bytes);
  Control& control = arena.control();
  control.call = made.call;
  Regions regions;
  std::size_t page_begin = kControlBytes;
  for (const Slot& slot : made.slots) {
    const Region region = region_of(slot, edge, alignment, page_begin);
    regions.push_back(region);
    page_begin += region.page_bytes;
    unsigned char* first = arena.at(region.page_begin + region.lead);
    if (slot.source != nullptr)
      std::memcpy(first, slot.source, slot.bytes);
    else if (fill == Fill::kZero)
      for_each_element(slot.shape, slot.strides, [&](std::int64_t offset) {
        std::memset(first + offset * slot.element_bytes, 0, static_cast<std::size_t>(slot.element_bytes));
      });
  }
  control.region_count = static_cast<std::uint32_t>(regions.size());
  std::ranges::copy(regions, control.regions);
  return regions;
}

Result<SubjectOutputs> read_back(const CallSlots& made, const Regions& regions, const Arena& arena) {
  SubjectOutputs outputs;
  for (std::size_t i = 0; i < made.slots.size(); ++i) {
    const Slot& slot = made.slots[i];
    if (!slot.is_output()) continue;
    QKV_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(slot.dtype, slot.shape));
    const unsigned char* first = first_element(regions[i], arena);
    auto* to = tensor.data<unsigned char>();
    for_each_element(slot.shape, slot.strides, [&](std::int64_t offset) {
      std::memcpy(to, first + offset * slot.element_bytes, static_cast<std::size_t>(slot.element_bytes));
      to += slot.element_bytes;
    });
    slot.tensor_in(outputs) = std::move(tensor);
  }
  return outputs;
}

std::string damage(const CallSlots& made, const Regions& regions, const Arena& arena) {
  for (std::size_t i = 0; i < made.slots.size(); ++i) {
    const Slot& slot = made.slots[i];
    if (!slot.is_output()) continue;
    const Region& region = regions[i];
    const unsigned char* pages = arena.at(region.page_begin);
    std::vector<unsigned char> rest(pages, pages + region.page_bytes);
    for_each_element(slot.shape, slot.strides, [&](std::int64_t offset) {
      std::memset(rest.data() + region.lead + offset * slot.element_bytes, Placed::kMark,
                  static_cast<std::size_t>(slot.element_bytes));
    });
    const auto changed = std::ranges::find_if(rest, [](unsigned char byte) { return byte != Placed::kMark; });
    if (changed == rest.end()) continue;
    const auto at = static_cast<std::size_t>(changed - rest.begin());
    if (at < region.lead) return "before the start of " + slot.name;
    return (at < region.lead + region.bytes ? "between the elements of " : "past the end of ") + slot.name;
  }
  return "";
}

std::string omission(const CallSlots& made, SubjectOutputs& marks, SubjectOutputs& zeros) {
  for (const Slot& slot : made.slots) {
    if (!slot.is_output() || slot.source != nullptr) continue;
    Tensor& tensor = slot.tensor_in(marks);
    const auto* marked = tensor.data<unsigned char>();
    const auto* zeroed = slot.tensor_in(zeros).data<unsigned char>();
    const auto holds = [&](const unsigned char* bytes, std::int64_t number, unsigned char what) {
      const unsigned char* begin = bytes + number * slot.element_bytes;
      return std::all_of(begin, begin + slot.element_bytes, [what](unsigned char byte) { return byte == what; });
    };
    std::int64_t untouched = 0, first = -1, added = -1;
    for (std::int64_t number = 0; number < tensor.size(); ++number) {
      if (!holds(marked, number, Placed::kMark) || holds(zeroed, number, Placed::kMark)) continue;
      if (!holds(zeroed, number, 0)) {  // a NaN that stayed one, and a number where 0 was
        if (added < 0) added = number;
        continue;
      }
      if (untouched++ == 0) first = number;
    }
    if (added >= 0)
      return "added to what " + slot.name + " held before, first at " + slot.name + index_words(slot.shape, added) +
             "; it is to be written";
    if (untouched == 0) continue;
    if (untouched < tensor.size())
      return "left " + std::to_string(untouched) + " of the " + std::to_string(tensor.size()) + " elements of " +
             slot.name + " unwritten, the first " + slot.name + index_words(slot.shape, first);
    if (slot.name != "lse") return "answered without writing " + slot.name;
    tensor = Tensor();
  }
  return "";
}

}  // namespace qkv::check
