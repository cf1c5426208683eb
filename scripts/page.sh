#!/usr/bin/env bash
# Builds the explorer's page, or the report of a check. Usage: scripts/page.sh http|wasm|report FOLDER
# (http: for `qkv explore`, wasm: for a static host, report: for `qkv check --html`)
set -euo pipefail
cd "$(dirname "$0")/../web"

[[ $# -eq 2 ]] || { echo "usage: scripts/page.sh http|wasm|report FOLDER" >&2; exit 2; }
case $1 in
  http) script=build ;;
  wasm) script=build:site ;;
  report) script=build:report ;;
  *) echo "page.sh: expected http, wasm or report, found $1" >&2; exit 2 ;;
esac

../scripts/web_tools.sh
npm run --silent "$script" -- --outDir "$2" --emptyOutDir
