#!/usr/bin/env bash
# Builds and runs the tests under the sanitizers. Usage: scripts/sanitize.sh [--quick] [--junit FOLDER]
# --quick leaves out the tests labelled slow, and runs only those that use threads under ThreadSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=""
junit=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=yes; shift ;;
    --junit) junit=$2; shift 2 ;;
    *) echo "sanitize.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

failed=0
for preset in asan-ubsan tsan; do
  selection=()
  if [[ -n $quick ]]; then selection=(-LE slow); fi
  if [[ -n $quick && $preset == tsan ]]; then selection+=(-R 'thread|parallel|same_bits|cancel'); fi
  echo "sanitize: $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --test-dir "build-$preset" -j2 --output-on-failure --no-tests=error "${selection[@]}" \
    ${junit:+--output-junit "$PWD/$junit/$preset.xml"} || failed=1
done
exit "$failed"
