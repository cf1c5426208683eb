#!/usr/bin/env bash
# Builds the explorer's page. Usage: scripts/page.sh http|wasm FOLDER   (http: for `qkv explore`, wasm: for a static host)
set -euo pipefail
cd "$(dirname "$0")/../web"

[[ $# -eq 2 ]] || { echo "usage: scripts/page.sh http|wasm FOLDER" >&2; exit 2; }
case $1 in
  http) script=build ;;
  wasm) script=build:site ;;
  *) echo "page.sh: expected http or wasm, found $1" >&2; exit 2 ;;
esac

../scripts/web_tools.sh
npm run --silent "$script" -- --outDir "$2" --emptyOutDir
