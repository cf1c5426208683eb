// The functions that a loaded library exports.
#ifndef QKV_SRC_CHECK_LIBRARY_CHILD_SYMBOLS_H_
#define QKV_SRC_CHECK_LIBRARY_CHILD_SYMBOLS_H_

#include <string>

namespace qkv::check {

// Their names, one a line; "" if there are none or the library does not tell. `library` is what dlopen() gave.
std::string exported_functions(void* library);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CHILD_SYMBOLS_H_
