#!/usr/bin/env bash
# Fuzzes what reads bytes that others wrote, two targets at a time.
# Usage: scripts/fuzz.sh [--junit FILE] [SECONDS] [TARGET ...]   (default 30 s for each)
# New inputs stay in build-asan-ubsan/fuzz/corpus/, and the next run starts from them. What fails is written to
# build-asan-ubsan/fuzz/failed/ and belongs into tests/fuzz/failed/TARGET/ once it is mended: every run begins with these.
set -euo pipefail
cd "$(dirname "$0")/.."

junit=""
if [[ ${1-} == --junit ]]; then
  junit=$2
  shift 2
fi
seconds=${1:-30}
shift || true
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: expected a number of seconds, found '$seconds'" >&2; exit 2; }

# What no input may exceed, whatever its header claims: docs/formats.md states it. MB of one allocation, and of all
# memory, of which the sanitizers themselves take about 100; seconds for one input, on a machine that does other things.
readonly most_allocation=64 most_memory=512 most_seconds=20
export ASAN_OPTIONS=quarantine_size_mb=16
readonly folder=build-asan-ubsan/fuzz

cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target fuzz_targets
python3 tests/fuzz/seeds.py "$folder/seeds"
mkdir -p "$folder/failed"
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  for program in build-asan-ubsan/tests/fuzz/*_fuzz; do targets+=("$(basename "$program" _fuzz)"); done
fi

# Ends with one line of what was done, or with the end of libFuzzer's report.
fuzz() {
  local target=$1 log=$folder/$1.log known=()
  mkdir -p "$folder/corpus/$target"
  if [[ -d tests/fuzz/failed/$target ]]; then known=("tests/fuzz/failed/$target"); fi
  if "build-asan-ubsan/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout="$most_seconds" \
    -rss_limit_mb="$most_memory" -malloc_limit_mb="$most_allocation" -print_final_stats=1 \
    -artifact_prefix="$folder/failed/$target-" "$folder/corpus/$target" "$folder/seeds/$target" "${known[@]}" >"$log" 2>&1; then
    awk -v name="$target" '/DONE/ {for (k = 1; k < NF; ++k) if ($k == "cov:") cov = $(k + 1); else if ($k == "corp:") corpus = $(k + 1)}
      /stat::number_of_executed_units/ {units = $2} /stat::average_exec_per_sec/ {each = $2} /stat::peak_rss_mb/ {rss = $2}
      END {printf "fuzz: %-11s clean: %d inputs, %d a second, coverage %d, corpus %s, %d MB\n", name, units, each, cov, corpus, rss}' "$log"
  else
    tail -n 40 "$log" >&2
    echo "fuzz: $target failed; see $log and $folder/failed/" >&2
    return 1
  fi
}

failed=0
cases=""
for ((k = 0; k < ${#targets[@]}; k += 2)); do
  pids=()
  for target in "${targets[@]:k:2}"; do
    fuzz "$target" &
    pids+=($!)
  done
  for target in "${targets[@]:k:2}"; do
    verdict=""
    wait "${pids[0]}" || { failed=1; verdict="<failure/>"; }
    pids=("${pids[@]:1}")
    cases+="<testcase name=\"fuzz $target\">$verdict</testcase>"
  done
done
if [[ -n $junit ]]; then echo "<testsuite>$cases</testsuite>" >"$junit"; fi
exit "$failed"
