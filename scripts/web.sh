#!/usr/bin/env bash
# The page's tests: types, its pure parts, and a real browser against ./build/qkv. Usage: scripts/web.sh [--junit FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly root=$PWD
junit=""
if [[ ${1-} == --junit ]]; then junit=$root/$2; fi

scripts/build.sh qkv_tool  # with its page in it, which installs web/node_modules
cd web
npm run --silent typecheck
if [[ -n $junit ]]; then
  npm run --silent test -- --reporter=default --reporter=junit --outputFile="$junit/vitest.xml"
  QKV_JUNIT=$junit/playwright.xml npm run --silent e2e
else
  npm run --silent test
  npm run --silent e2e
fi
