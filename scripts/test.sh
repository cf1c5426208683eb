#!/usr/bin/env bash
# What `make test` does: builds and runs every test, C++, Python, then the page in a browser, and adds the counts up.
set -euo pipefail
cd "$(dirname "$0")/.."

results=build/results
rm -rf "$results"
mkdir -p "$results"
left_out=""
failed=0

# 200 random problems a property, the same ones every time; `make test-long` draws 2,000 new ones.
export RC_PARAMS=${RC_PARAMS:-seed=2026 max_success=200}

scripts/build.sh --tests all
scripts/wasm.sh explain  # for the parity test
ctest --test-dir build -j2 --output-on-failure --no-tests=error --output-junit "$PWD/$results/ctest.xml" || failed=1
scripts/python.sh --junit "$results/pytest.xml" --left-out "$results/left_out.txt" || failed=1
scripts/web.sh --junit "$results" || failed=1

if [[ -s $results/left_out.txt ]]; then left_out=$(<"$results/left_out.txt"); fi
if [[ -n $left_out ]]; then echo "Left out: $left_out"; fi
# The count's own exit code tells of failed tests; `failed` also of a step that broke before it could count.
python3 scripts/tally.py "$results"/*.xml || failed=1
exit "$failed"
