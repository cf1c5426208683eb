# Cross-compiling for AArch64 with Debian's compiler, tests under qemu-user. scripts/neon.sh fills the sysroot.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

# Our dependencies' AArch64 packages, unpacked; header-only ones are the host's.
set(qkv_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build-neon/sysroot/usr)
list(APPEND CMAKE_FIND_ROOT_PATH ${qkv_sysroot} ${CMAKE_CURRENT_LIST_DIR}/../build-neon/headers)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${qkv_sysroot}/lib/aarch64-linux-gnu)
