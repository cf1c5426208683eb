#!/usr/bin/env bash
# Builds the explorer's page, the report of a check, or a notebook's panel. Usage: scripts/page.sh http|wasm|report|widget FOLDER
# (http: for `qkv explore`, wasm: for a static host, report: for `qkv check --html`, widget: for Python's qkv.trace)
set -euo pipefail
cd "$(dirname "$0")/../web"

[[ $# -eq 2 ]] || { echo "usage: scripts/page.sh http|wasm|report|widget FOLDER" >&2; exit 2; }
case $1 in
  http) script=build ;;
  wasm) script=build:site ;;
  report) script=build:report ;;
  widget) script=build:widget ;;
  *) echo "page.sh: expected http, wasm, report or widget, found $1" >&2; exit 2 ;;
esac

../scripts/web_tools.sh
npm run --silent "$script" -- --outDir "$2" --emptyOutDir
