// Another library's OpenMP threads as an executor: beside PyTorch, two pools of threads would wait for work on each
// other's CPUs, since the workers of both spin for a while before they sleep.
#ifndef QKV_APPS_PYTHON_OPENMP_H_
#define QKV_APPS_PYTHON_OPENMP_H_

#include <cstdint>

#include "qkv/options.h"

namespace qkv::python {

// From now on calls run on the threads behind GOMP_parallel, the entry point that GNU's, LLVM's and Intel's OpenMP
// share, at that address; 0: on the library's own again.
void use_openmp(std::uintptr_t gomp_parallel);

// Empty unless use_openmp was called, and in a child of fork(), which has no thread of its parent's.
Executor openmp_executor();

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_OPENMP_H_
