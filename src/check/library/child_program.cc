// The assembler reads the program that the build has just linked.
#include "src/check/library/child_program.h"

asm(".pushsection .rodata\n"
    "qkv_check_child:\n"
    ".incbin \"" QKV_CHECK_CHILD
    "\"\n"
    "qkv_check_child_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char qkv_check_child[], qkv_check_child_end[];
}

namespace qkv::check {

std::string_view child_program() {
  return {qkv_check_child, static_cast<std::size_t>(qkv_check_child_end - qkv_check_child)};
}

}  // namespace qkv::check
