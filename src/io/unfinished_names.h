// The names of unfinished files, in memory that a signal handler may read.
#ifndef QKV_SRC_IO_UNFINISHED_NAMES_H_
#define QKV_SRC_IO_UNFINISHED_NAMES_H_

#include <string>

namespace qkv {

// Registers a name before the file exists, so that there is no moment in which a signal would miss it.
// Returns its slot, or -1 if the name is too long or all slots are taken.
int register_unfinished(const std::string& name);

const char* unfinished_name(int slot);

// Frees the slot; the file is left as it is.
void forget_unfinished(int slot);

}  // namespace qkv

#endif  // QKV_SRC_IO_UNFINISHED_NAMES_H_
