// Anybody's attention in a shared library: a C function (include/qkv/check_abi.h) that runs in a process of its own.
#ifndef QKV_SRC_CHECK_LIBRARY_LIBRARY_SUBJECT_H_
#define QKV_SRC_CHECK_LIBRARY_LIBRARY_SUBJECT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/check/subject.h"

namespace qkv::check {

struct LibraryOptions {
  // For one call of the function, and for loading it. After hangs it is less (time_limit.h), and the message says so.
  std::chrono::milliseconds time_limit{10'000};
  // Of the first element of every tensor, in bytes: a power of two up to 4096. 1: that of an element, so that the last
  // byte of a tensor is the last one before a page that cannot be touched.
  std::size_t alignment = 1;
  // Asked some fifty times a second during a call; false stops it, and the answer is kCancelled.
  std::function<bool()> keep_going = {};
};

// Loads `path` in a child process and finds `symbol` there. Each problem is then asked twice, with tensors that end and
// with tensors that begin where memory does; a new child takes over where one has ended.
//
// Errors, all before a problem is asked: kIo (no such file, no process), kInvalidArgument (an alignment, no shared
//   library, no such symbol, with the nearest one or what there is), kUnsupported (of another machine).
Result<std::unique_ptr<Subject>> open_library(const std::string& path, const std::string& symbol,
                                              const LibraryOptions& options = {});

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_LIBRARY_SUBJECT_H_
