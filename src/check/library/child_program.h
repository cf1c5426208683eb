// The program of the child process (child.cc), as bytes inside this one: it needs no place on disk.
#ifndef QKV_SRC_CHECK_LIBRARY_CHILD_PROGRAM_H_
#define QKV_SRC_CHECK_LIBRARY_CHILD_PROGRAM_H_

#include <string_view>

namespace qkv::check {

std::string_view child_program();

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CHILD_PROGRAM_H_
