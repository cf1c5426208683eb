// Python's arrays as views, and results as Python's arrays: NumPy, and whatever speaks DLPack. No element is copied
// unless an array has a negative stride.
#ifndef QKV_APPS_PYTHON_ARRAYS_H_
#define QKV_APPS_PYTHON_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// ValueError (MemoryError for kOutOfMemory) with the core's own message. Does nothing for an ok status.
void raise_if_error(const Status& status);

// An array that a call reads; absent (its view is) if made without one.
// Constraint: the caller's object outlives it, as the arguments of a call do.
struct Input {
  View<const void> view;
  nb::object copy;               // where the array's own memory cannot be viewed
  nb::ndarray<nb::ro> exported;  // where the array is not NumPy's

  Input() = default;
  // Raises TypeError if `object` is no array, is not in the CPU's memory, or has an element type that qkv does not
  // know; ValueError for more than four axes. `name` goes into the message.
  Input(const char* name, nb::handle object);
  // The same, but None is an absent one.
  static Input optional(const char* name, nb::handle object) {
    return object.is_none() ? Input() : Input(name, object);
  }
};

// An array that a call writes: the caller's, or a new one that it returns.
class Written {
 public:
  Written() = default;
  // The caller's. Raises as Input does, and TypeError for a read-only array and for one that can't be viewed.
  Written(const char* name, nb::handle object);
  // A new one, contiguous and uninitialised, of the same library as `like`. Raises MemoryError.
  Written(DType dtype, const Dims& shape, nb::handle like);

  const View<void>& view() const { return view_; }
  // The array for Python, once, after the call has written it: NumPy's where the library of `like` imports no DLPack.
  nb::object take();

 private:
  View<void> view_;
  nb::object array_;        // the caller's, or a new one of NumPy
  nb::ndarray<> exported_;  // the caller's, where it is not NumPy's
  Tensor tensor_;           // the memory of a new one of another library
  nb::handle like_;
};

// `given` where it is an array, else a new one: what `out` arguments mean.
Written given_or_new(const char* name, nb::handle given, DType dtype, const Dims& shape, nb::handle like);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ARRAYS_H_
