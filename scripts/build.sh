#!/usr/bin/env bash
# Configures build/ once and builds targets in it. Usage: scripts/build.sh [--tests] TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."

# A first configure leaves the tests out, which need more packages; --tests adds them to the same folder, so that the
# library is built once. Later calls keep what the folder has.
options=()
if [[ ${1-} == --tests ]]; then
  shift
  grep -qs '^QKV_BUILD_TESTS:BOOL=ON$' build/CMakeCache.txt || options=(-DQKV_BUILD_TESTS=ON)
elif [[ ! -f build/build.ninja ]]; then
  options=(-DQKV_BUILD_TESTS=OFF)
fi
if [[ ${#options[@]} -gt 0 || ! -f build/build.ninja ]]; then
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake --preset release "${options[@]}"
fi
cmake --build build --target "$@"
