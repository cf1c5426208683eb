#!/usr/bin/env bash
# The tests of the page and of the npm package: types, pure parts, sizes, and a real browser against ./build/qkv and the
# static site. Usage: scripts/web.sh [--junit FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

junit=""
if [[ ${1-} == --junit ]]; then junit=$PWD/$2; fi

# Runs `npm run NAME`, a script that calls Vitest.
vitest() {
  local name=$1 report=()
  if [[ -n $junit ]]; then report=(-- --reporter=default --reporter=junit --outputFile="$junit/vitest_$name.xml"); fi
  npm run --silent "$name" "${report[@]}"
}

scripts/build.sh qkv_tool qkv_widget  # with its page in it; and the panel for notebooks
scripts/site.sh
scripts/npm.sh
python3 scripts/page_size.py build-site
cd web
npm run --silent typecheck
vitest test
vitest test-package
QKV_JUNIT=${junit:+$junit/playwright.xml} npm run --silent e2e
