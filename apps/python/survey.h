// The statistics of heads as Python's dicts.
#ifndef QKV_APPS_PYTHON_SURVEY_H_
#define QKV_APPS_PYTHON_SURVEY_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

// A dict a head. `inputs`: (q, k, v, o, rows, tokens, query_start, apart, is_cross); v, o and rows are None where
// nothing is to be recomputed, tokens and query_start may be. Raises ValueError and TypeError as `attention` does.
nb::list survey(nb::tuple inputs, nb::tuple options);

// ((name, meaning), ...) of the statistics.
nb::list statistics();

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_SURVEY_H_
