// A cache of keys and values in Python's arrays, which a call writes in place.
#ifndef QKV_APPS_PYTHON_CACHE_H_
#define QKV_APPS_PYTHON_CACHE_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "apps/python/arrays.h"
#include "qkv/decode.h"
#include "qkv/problem.h"

namespace qkv::python {

class Cache {
 public:
  // `fields` is (k, v, lengths, block_table), block_table perhaps None. Raises as Written does, and TypeError for
  // lengths that are no array of whole numbers with one axis.
  Cache(nb::tuple fields, Layout layout);

  const KeyValueCache& view() const { return view_; }
  double flops(std::int64_t query_rows) const;  // about, of so many rows (heads times new tokens) of each sequence
  // Gives Python's array the lengths that the call has left.
  void write_lengths();

 private:
  Written k_, v_, lengths_array_;
  Input block_table_;
  std::vector<std::int64_t> lengths_;
  KeyValueCache view_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_CACHE_H_
