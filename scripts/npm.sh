#!/usr/bin/env bash
# Builds the npm package qkv into build-npm/: a folder for `npm pack` and `npm install`.
set -euo pipefail
cd "$(dirname "$0")/.."

package=$PWD/build-npm
scripts/wasm.sh package
scripts/web_tools.sh
rm -rf "$package"
mkdir "$package"
(cd web && npx --no-install tsc -p package)
cp build-wasm/qkv.wasm web/package/package.json web/package/README.md LICENSE "$package"/
echo "The package is in build-npm/. To use it: npm install $package"
