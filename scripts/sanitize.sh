#!/usr/bin/env bash
# Builds and runs every test under the address, undefined-behaviour and thread sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
for preset in asan-ubsan tsan; do
  echo "sanitize: $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --test-dir "build-$preset" -j2 --output-on-failure --no-tests=error || failed=1
done
exit "$failed"
