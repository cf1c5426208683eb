#!/usr/bin/env bash
# What `make run` shows: the lesson's examples, a real model's attention computed and compared, and, on a terminal, the
# explorer at the address that it prints.
set -euo pipefail
cd "$(dirname "$0")/.."

show() {
  echo
  echo "\$ $*"
  "$@"
}

result=$(mktemp --suffix=.safetensors)
trap 'rm -f "$result"' EXIT

show ./build/qkv explain bank
show ./build/qkv explain running
show ./build/qkv explain backward --backward
echo
echo "Now the attention of a real model, all 72 heads of all-MiniLM-L6-v2, compared with the outputs in the file:"
show ./build/qkv run examples/minilm.safetensors -o "$result" --compare o
echo
echo "What \"bank\" looks at in one of them (examples/minilm.md tells the story):"
show ./build/qkv explain examples/minilm.safetensors --batch 0 --head 4 --row bank

echo
if [[ -t 1 ]]; then
  echo "And all of it alive, in the browser:"
  echo "\$ ./build/qkv explore"
  rm -f "$result"
  exec ./build/qkv explore
fi
echo "And all of it alive, in the browser: ./build/qkv explore"
