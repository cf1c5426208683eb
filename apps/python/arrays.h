// Python's arrays as views, and tensors as Python's arrays: NumPy, and whatever speaks DLPack. No element is copied
// unless an array has a negative stride.
#ifndef QKV_APPS_PYTHON_ARRAYS_H_
#define QKV_APPS_PYTHON_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// ValueError (MemoryError for kOutOfMemory) with the core's own message. Does nothing for an ok status.
void raise_if_error(const Status& status);

// A view and the Python object that keeps its memory alive.
struct Input {
  nb::ndarray<nb::ro> array;
  View<const void> view;
};
struct Output {
  nb::ndarray<> array;
  View<void> view;
};

// Raises TypeError if `object` is no array, is not in the CPU's memory, or has an element type that qkv does not know;
// ValueError for more than four axes. `name` goes into the message.
Input import_array(const std::string& name, nb::handle object);
// As above, and TypeError for a read-only array.
Output import_output(const std::string& name, nb::handle object);

// `shown`, a view of `tensor`, as an array of the same library as `like` (NumPy where that library cannot import
// DLPack). A bf16 array of NumPy gets the element type of `like`, which is ml_dtypes'.
nb::object export_array(Tensor tensor, View<const void> shown, nb::handle like);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ARRAYS_H_
