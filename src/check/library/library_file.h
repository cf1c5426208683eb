// What is wrong with a file that shall be a shared library, in words that dlopen() does not have.
#ifndef QKV_SRC_CHECK_LIBRARY_LIBRARY_FILE_H_
#define QKV_SRC_CHECK_LIBRARY_LIBRARY_FILE_H_

#include <string>

#include "qkv/status.h"

namespace qkv::check {

// Looks at the first bytes. Errors: kIo (it cannot be read), kInvalidArgument (something else than a shared library),
// kUnsupported (for another machine).
Status check_library_file(const std::string& path);

// `exported`: the functions that there are, one a line.
Status missing_symbol(const std::string& path, const std::string& symbol, const std::string& exported);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_LIBRARY_FILE_H_
