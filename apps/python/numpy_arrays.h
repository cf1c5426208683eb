// NumPy's arrays through its C interface: importing three of them costs less than the smallest call.
#ifndef QKV_APPS_PYTHON_NUMPY_ARRAYS_H_
#define QKV_APPS_PYTHON_NUMPY_ARRAYS_H_

#include <nanobind/nanobind.h>

#include <cstdint>

#include "qkv/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// Makes the rest of this header usable. Raises what `import numpy` raises. Called once, when the module is imported.
void load_numpy();

bool is_numpy(nb::handle object);
bool is_numpy_flag(nb::handle object);  // one np.bool_

enum class Reading : std::uint8_t {
  kViewed,      // `view` is the array
  kNeedsCopy,   // its memory is nothing that a view can describe: a negative stride, elements across their alignment
  kWrongType,   // an element type that qkv does not know, or bytes in the other order
  kTooManyAxes  // more than four
};

// The array's memory as a view, whether it may be written or not. Constraint: is_numpy(array).
Reading view_numpy(nb::handle array, View<void>& view);
bool is_writable(nb::handle array);
bool is_masked(nb::handle array);  // a numpy.ma.MaskedArray, some of whose elements are to be left out

// A contiguous copy. Constraint: is_numpy(array).
nb::object copy_numpy(nb::handle array);

// A new array, uninitialised. `view` becomes its memory. bf16 is ml_dtypes' type, which is taken from `like`.
// Constraint: for bf16, `like` is an array of NumPy of that type.
nb::object new_numpy(DType dtype, const Dims& shape, nb::handle like, View<void>& view);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_NUMPY_ARRAYS_H_
