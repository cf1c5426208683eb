#!/usr/bin/env bash
# Fuzzes what reads bytes that others wrote. Usage: scripts/fuzz.sh [SECONDS] [TARGET ...]   (default 30 s for each)
# New inputs stay in build-fuzz/corpus/; what crashes is written there as crash-* and belongs into the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
shift || true
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: expected a number of seconds, found '$seconds'" >&2; exit 2; }
readonly most_memory=1024 # MB: a header that claims more than its file holds must not be believed

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_targets
python3 tests/fuzz/seeds.py build-fuzz/seeds
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  for program in build-fuzz/tests/fuzz/*_fuzz; do targets+=("$(basename "$program" _fuzz)"); done
fi
failed=0
for target in "${targets[@]}"; do
  mkdir -p "build-fuzz/corpus/$target" "build-fuzz/seeds/$target"
  echo "fuzz: $target, $seconds s"
  "build-fuzz/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -rss_limit_mb="$most_memory" -malloc_limit_mb="$most_memory" -timeout=10 \
    -print_final_stats=1 -artifact_prefix="build-fuzz/corpus/$target/" "build-fuzz/corpus/$target" "build-fuzz/seeds/$target" \
    2>&1 | grep -E 'ERROR|SUMMARY|stat::number_of_executed_units|stat::peak_rss_mb|Test unit' || true
  [[ ${PIPESTATUS[0]} -eq 0 ]] || { echo "fuzz: $target failed; see build-fuzz/corpus/$target/" >&2; failed=1; }
done
exit "$failed"
