#!/usr/bin/env bash
# Builds WebAssembly modules into build-wasm/. Usage: scripts/wasm.sh TARGET...   (explain: of the page; package: of npm's)
set -euo pipefail
cd "$(dirname "$0")/.."

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset wasm "${launcher[@]}" >/dev/null
cmake --build --preset wasm --target "$@"
