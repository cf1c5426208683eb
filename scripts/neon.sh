#!/usr/bin/env bash
# Builds the tests of the operations for AArch64 with Debian's cross compiler and runs them under qemu-user.
# Usage: scripts/neon.sh [TEST...]     (names of test programs; without any, those of the operations)
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build-neon
tests=("$@")
if [[ ${#tests[@]} -eq 0 ]]; then
  for file in src/ops/*/*_test.cc; do tests+=("$(basename "$file" .cc)"); done
fi

# The AArch64 packages of our dependencies, unpacked into a folder: nothing foreign is installed on this machine.
if [[ ! -d $folder/sysroot ]]; then
  mkdir -p "$folder"/{debs,apt/state/lists/partial,apt/cache/archives/partial,headers/include}
  apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$folder/apt/state"
    -o Dir::State::status=/dev/null -o Dir::Cache="$folder/apt/cache")
  "${apt[@]}" update
  (cd "$folder/debs" && "${apt[@]}" download libhwy-dev libhwy1 libgtest-dev librapidcheck-dev libzip-dev libzip4)
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$folder/sysroot.new"; done
  mv "$folder/sysroot.new" "$folder/sysroot"
  ln -sfn /usr/include/nlohmann "$folder/headers/include/nlohmann"
fi

cmake -G Ninja -B "$folder/build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DQKV_THREADS=std -DQKV_BUILD_CLI=OFF -DQKV_BUILD_TESTS=ON .
cmake --build "$folder/build" --target "${tests[@]}"
# Tests that were not built stay away: CMake knows them as NAME_NOT_BUILT.
ctest --test-dir "$folder/build" -j2 --output-on-failure --no-tests=error \
  -E 'NOT_BUILT|_bench_|^docs$|^structure$|^example_' --output-junit "$folder/neon.xml"
