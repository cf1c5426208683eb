#!/usr/bin/env bash
# Builds the page with the engine as WebAssembly into build-site/: a folder for any static host, which works offline.
set -euo pipefail
cd "$(dirname "$0")/.."

site=$PWD/build-site
scripts/wasm.sh explain
scripts/page.sh wasm "$site"
cp build-wasm/explain.wasm "$site"/
python3 scripts/finish_site.py "$site"
echo "The site is in build-site/. To look at it: python3 -m http.server -d build-site"
