// Takes the place of libc++'s __d2fixed_buffered_n, whose tables would be half of a module. A double is printed by
// shortest() only, which asks for exponents where libc++ would call it: for whole numbers from 2^53 on.
#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap and libc++'s name
extern "C" char* __wrap__ZNSt3__220__d2fixed_buffered_nEPcS0_dj(char* /*first*/, char* /*last*/, double /*value*/,
                                                                std::uint32_t /*precision*/) {
  __builtin_trap();
}
// NOLINTEND(bugprone-reserved-identifier)
