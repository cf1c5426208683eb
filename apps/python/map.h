// Maps of one head as NumPy's arrays.
#ifndef QKV_APPS_PYTHON_MAP_H_
#define QKV_APPS_PYTHON_MAP_H_

#include <nanobind/nanobind.h>

#include <cstdint>

namespace qkv::python {

namespace nb = nanobind;

// A dict: step, max, mean (arrays of NumPy), lse, entropy, largest. `inputs`: (q, k, batch, head, pixels); q and k may
// have any rank and batch and head pick of them. Raises ValueError and TypeError as `attention` does.
nb::dict map_overview(nb::tuple inputs, nb::tuple options);

// (max, mean). `inputs`: (q, k, batch, head, lse, row, column, step, height, width).
nb::tuple map_tile(nb::tuple inputs, nb::tuple options);

// A dict as MapRow. `inputs`: (q, k, batch, head, row, top).
nb::dict map_row(nb::tuple inputs, nb::tuple options);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_MAP_H_
