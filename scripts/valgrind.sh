#!/usr/bin/env bash
# Runs the tool's main paths under valgrind: a read of what was never written, a byte out of bounds, memory that nobody
# can free any more. Usage: scripts/valgrind.sh   (the tool is ./build/qkv)
set -euo pipefail
cd "$(dirname "$0")/.."

export QKV_TARGET=avx2 # the widest that valgrind knows
readonly found=99      # valgrind's exit code for a finding; the tool's own go up to 3
readonly model=examples/minilm.safetensors
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
count=0

# Runs one command line that shall end with the exit code CODE, shown only if it does not. A library that is checked runs
# in a process of its own, which valgrind does not follow: what others have compiled is not held to this.
run() {
  local code=$1 status=0
  shift
  echo "valgrind: qkv $*"
  valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=$found \
    build/qkv "$@" >"$folder/output" 2>&1 || status=$?
  count=$((count + 1))
  if [[ $status -ne $code ]]; then
    echo "valgrind: expected exit code $code, found $status$([[ $status -ne $found ]] || echo ' (valgrind has findings)'):" >&2
    tail -n 60 "$folder/output" >&2
    failed=$((failed + 1))
  fi
}

libraries() { cc -O2 -shared -fPIC -Iinclude "examples/check/$1.c" -o "$folder/$1.so" -lm; }

libraries my_attention
libraries stories

run 0 --version
run 0 --help
run 0 info
run 0 shapes --preset toy --lang pt
for language in en pt; do
  run 0 explain bank --set 'v[river]=0,1' --lang $language
  run 0 explain running --head 0 --row 1 --causal --lang $language
  run 0 explain backward --backward --lang $language
done
run 0 explain "$model" --batch 0 --head 4 --row bank
run 0 explain bank --json
run 0 run "$model" -o "$folder/o.npz" --lse --compare o
run 0 run "$model" -o "$folder/o.safetensors" --causal --window 8,0 --threads 2
run 0 bench "attention H2 T32 D16 causal" "attention H2 T16 D8 bf16" --rounds 1
run 0 check --mistakes
run 0 check --given "$model" --got "$folder/o.npz"
run 1 check "$folder/my_attention.so:my_attention" --quick
run 1 check "$folder/stories.so:mask_inverted" --quick --json --repro "$folder/repro.npz"
run 1 check "$folder/stories.so:mask_inverted" --quick --html "$folder/report.html"
run 2 run "$folder/none.npz" -o "$folder/o.npy"
run 2 explain Makefile
run 2 check "$folder/my_attention.so:no_such_function"
head -c 4000 "$model" >"$folder/cut.safetensors"
run 2 run "$folder/cut.safetensors" -o "$folder/o.npy"

echo "valgrind: $((count - failed)) of $count commands clean"
[[ $failed -eq 0 ]]
