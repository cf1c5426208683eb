#!/usr/bin/env bash
# Builds and runs every C++ test under the address, undefined-behaviour and thread sanitizers; says what was left out and
# why, and ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."

results=build-sanitize-results
rm -rf "$results"
mkdir -p "$results"
failed=0
for preset in asan-ubsan tsan; do
  echo "sanitize: $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --test-dir "build-$preset" -j2 --output-on-failure --no-tests=error --output-junit "$PWD/$results/$preset.xml" || failed=1
done
# googletest prints the reason below the line that says "Skipped".
for report in "$results"/*.xml; do
  sed -n '/: Skipped$/{n;p}' "$report" | sort | uniq -c | sed "s|^|$(basename "$report" .xml), skipped: |"
done
python3 scripts/tally.py "$results"/*.xml || failed=1
exit "$failed"
