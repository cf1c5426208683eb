#!/usr/bin/env bash
# What `make test-long` does: 2,000 random problems a property on every target, then the operations on NEON under qemu.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh --tests all
failed=0
export RC_PARAMS="max_success=2000" QKV_CHECK_SEEDS=200
ctest --test-dir build -R 'Properties\.|FalseAlarms' -j2 --output-on-failure --no-tests=error \
  --output-junit "$PWD/build/results/long.xml" || failed=1
scripts/neon.sh || failed=1
python3 scripts/tally.py build/results/long.xml build-neon/neon.xml || failed=1
exit "$failed"
