// A C++ function that lets an exception out, and one that forgot extern "C".
#include <stdexcept>

#include "qkv/check_abi.h"

extern "C" int throws(const qkv_check_call*) { throw std::runtime_error("bad shape"); }

int without_c_linkage(const qkv_check_call*) { return QKV_CHECK_DONE; }
