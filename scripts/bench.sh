#!/usr/bin/env bash
# Measures qkv, then qkv beside its peers, and writes the tables and plots of docs/bench.md. See there.
# Usage: scripts/bench.sh [--quick] [--fresh] [options of bench/peers.py]
#   --quick   a few rows on one thread in about three minutes; prints, and leaves the documents alone
#   --fresh   measures everything again; else rows that docs/bench/ has are kept, so that a run can be resumed
set -euo pipefail
cd "$(dirname "$0")/.."

quick=""
fresh=""
options=()
for option in "$@"; do
  case $option in
    --quick) quick=yes ;;
    --fresh) fresh=yes ;;
  esac
  options+=("$option")
done

readonly requirements=bench/requirements.txt
readonly stamp=.venv-bench/requirements.installed  # a copy of the file that the environment was made from
readonly python=.venv-bench/bin/python
readonly libraries=.venv-bench/lib
pip_install() { "$python" -m pip install --disable-pip-version-check --retries 1 -q "$@"; }

# All pinned packages; if that fails one by one, and what does not install is said. peers.py then leaves it out.
make_environment() {
  if cmp -s "$requirements" "$stamp"; then return 0; fi
  echo "bench: installing into .venv-bench (some 6 GB): $(sed 's/==.*//' "$requirements" | tr '\n' ' ')"
  [[ -x $python ]] || python3 -m venv .venv-bench
  if pip_install -r "$requirements"; then
    cp "$requirements" "$stamp"
    return 0
  fi
  local line
  while read -r line; do
    pip_install "$line" || echo "bench: $line does not install here and is left out" >&2
  done <"$requirements"
}

# The module for the small calls from Python.
install_module() {
  scripts/build.sh qkv
  pip_install --no-build-isolation --no-deps --force-reinstall -C build-dir=build-python-bench \
    -C cmake.define.QKV_PREBUILT="$PWD/build" . || echo "bench: the Python module does not build; left out" >&2
}

# The unfused baselines, for this machine.
compile_baselines() {
  local flags=(-std=c++20 -O3 -march=native -fopenmp -fPIC -shared)
  c++ "${flags[@]}" -ffast-math bench/contenders/unfused_blas.cc -o "$libraries/libunfused_blas.so"
  if [[ -f .venv-bench/include/oneapi/dnnl/dnnl.hpp ]]; then
    c++ "${flags[@]}" -I.venv-bench/include bench/contenders/unfused_onednn.cc -o "$libraries/libunfused_onednn.so" \
      -L"$libraries" -ldnnl -Wl,-rpath,"$PWD/$libraries"
  else
    echo "bench: oneDNN's headers are missing; left out" >&2
  fi
}

scripts/build.sh qkv_tool qkv_bench_native
make_environment
install_module
compile_baselines

if [[ -n $quick ]]; then
  results=build/bench-quick
  rm -rf "$results"
  mkdir -p "$results"
  ./build/qkv bench --set small --rounds 7 --json "$results/qkv_f32.json"
  "$python" bench/peers.py --results "$results/peers.jsonl" "${options[@]}"
  "$python" bench/peer_report.py --print --folder "$results"
  exit 0
fi

mkdir -p docs/bench
# One and two threads side by side, without peers; growth in f32 only.
measure_alone() {
  local file=docs/bench/qkv_$1.json sets=(prefill causal small odd decode backward layer project)
  shift
  if [[ -n $fresh ]]; then rm -f "$file"; fi
  [[ -f $file ]] || ./build/qkv bench "${sets[@]/#/--set=}" --threads 1,2 --rounds 7 --json "$file" "$@"
}
measure_alone f32 --set growth
measure_alone bf16 --dtype bf16
"$python" bench/peers.py "${options[@]}"
"$python" bench/peer_report.py
echo "bench: docs/bench.md, README.md and docs/bench/ are up to date"
