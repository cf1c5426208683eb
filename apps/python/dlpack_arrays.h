// Arrays of other libraries than NumPy, by DLPack: what its exporters hide or refuse is said, and results go back.
#ifndef QKV_APPS_PYTHON_DLPACK_ARRAYS_H_
#define QKV_APPS_PYTHON_DLPACK_ARRAYS_H_

#include <nanobind/nanobind.h>

#include <cstdint>

#include "qkv/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// Raises TypeError for an array whose memory does not tell the whole: one that PyTorch is to differentiate, and one
// whose sign it has not changed yet. Exporters pass over both, or say it in words that lead nowhere.
void refuse_hidden_state(const char* name, nb::handle object);

// Whether the memory of a device of DLPack can be read here: the CPU's, and what is pinned for a GPU.
bool is_host(std::int32_t device_type);

[[noreturn]] void raise_device(const char* name, std::int32_t device_type, std::int32_t device);

// Why an object that has __dlpack__ does not export: its device, or what it says itself. Raises TypeError.
[[noreturn]] void raise_unexported(const char* name, nb::handle object);

// `tensor` as an array of the library of `like`, in the same memory; NumPy's where that library imports no DLPack.
// Raises TypeError for bfloat16 without ml_dtypes.
nb::object export_tensor(Tensor tensor, nb::handle like);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_DLPACK_ARRAYS_H_
