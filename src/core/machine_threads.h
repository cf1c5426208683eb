// How many threads this process may use.
#ifndef QKV_SRC_CORE_MACHINE_THREADS_H_
#define QKV_SRC_CORE_MACHINE_THREADS_H_

namespace qkv {

// `requested`, or for 0 the number of CPUs in this process's affinity mask. Always 1 in a child of fork(), whose parent
// had the workers.
int machine_threads(int requested);

}  // namespace qkv

#endif  // QKV_SRC_CORE_MACHINE_THREADS_H_
