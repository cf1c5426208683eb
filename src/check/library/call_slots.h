// A case as qkv_check_call has it: numbers in the struct, and a slot for every tensor and list that it points to.
#ifndef QKV_SRC_CHECK_LIBRARY_CALL_SLOTS_H_
#define QKV_SRC_CHECK_LIBRARY_CALL_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "qkv/check_abi.h"
#include "src/check/subject.h"

namespace qkv::check {

struct Slot {
  std::string name;              // "k"
  const void* source = nullptr;  // of an input, or an output that is read too: its first element, strides as below
  DType dtype = DType::kF32;
  Dims shape, strides;
  std::int64_t element_bytes = 1;
  std::size_t bytes = 0;                          // from the first element to the end of the last one
  std::size_t pointer_at = 0;                     // where in qkv_check_call its address belongs
  Tensor SubjectOutputs::* output = nullptr;      // where an output is told,
  Tensor LayerOutputs::* layer_output = nullptr;  // or in SubjectOutputs::layer; both null: an input

  bool is_output() const { return output != nullptr || layer_output != nullptr; }
  Tensor& tensor_in(SubjectOutputs& outputs) const {
    return output != nullptr ? outputs.*output : outputs.layer.*layer_output;
  }
};

struct CallSlots {
  qkv_check_call call{};    // without addresses
  std::vector<Slot> slots;  // at most kMaxRegions
  // What the case does not hold in the form in which it is handed over.
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> cache_lengths;
};

// Constraint: the case outlives what is returned. Errors: kOutOfMemory.
Result<CallSlots> slots_of(const Case& asked);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CALL_SLOTS_H_
