#!/usr/bin/env bash
# Builds the Python package into .venv and runs its tests. Usage: scripts/python.sh [--junit FILE] [--left-out FILE]
# Where PyPI cannot be reached it says what is left out (also into the --left-out file) and ends with success.
set -euo pipefail
cd "$(dirname "$0")/.."

junit=""
left_out=/dev/null
while [[ $# -gt 0 ]]; do
  case $1 in
    --junit) junit=$2; shift 2 ;;
    --left-out) left_out=$2; shift 2 ;;
    *) echo "python.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

readonly light=tests/python/requirements.txt
readonly large=tests/python/requirements-torch.txt

# Installs into the environment. Succeeds, or returns 3 if the registry did not answer.
pip_install() {
  local log=.venv/pip.log
  .venv/bin/python -m pip install --disable-pip-version-check --retries 1 --timeout 20 "$@" 2>&1 | tee "$log" && return
  grep -qE 'NewConnectionError|NameResolution|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Retrying' "$log" && return 3
  return 1
}

# Runs a command where .venv was not made from these requirements; a copy of the file beside it tells.
once() {
  local requirements=$1 stamp status=0
  stamp=.venv/$(basename "$1").installed
  shift
  if cmp -s "$requirements" "$stamp"; then return 0; fi
  echo "python: installing into .venv: $(sed 's/==.*//' "$requirements" | tr '\n' ' ')"
  "$@" || return
  cp "$requirements" "$stamp"
}

install_light() {
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  # An older onnx beside the newer one, for its files: node cases as they were published. (onnx_cases.py)
  pip_install -r "$light" && pip_install --no-deps --upgrade --target .venv/onnx-1.22.0 onnx==1.22.0
}

install_large() {
  echo "python: PyTorch is large: 2.5 GB to load, 6 GB on the disk. QKV_WITHOUT_TORCH=1 leaves it and its tests out."
  pip_install -r "$large"
}

leave_out() { echo "$1" | tee -a "$left_out"; }

status=0
once "$light" install_light || status=$?
if [[ $status -eq 3 ]]; then
  leave_out "the Python package and its tests (PyPI could not be reached)"
  exit 0
elif [[ $status -ne 0 ]]; then
  exit "$status"
fi
if [[ -n ${QKV_WITHOUT_TORCH-} ]]; then
  leave_out "Python's tests with PyTorch, transformers and JAX (QKV_WITHOUT_TORCH is set)"
else
  once "$large" install_large || status=$?
  if [[ $status -eq 3 ]]; then
    leave_out "Python's tests with PyTorch, transformers and JAX (PyPI could not be reached)"
  elif [[ $status -ne 0 ]]; then
    exit "$status"
  fi
fi

# The libraries come from build/, and the module's own folder stays, so that nothing is compiled twice.
scripts/build.sh libqkv.a libqkv_check.a
pages=(libqkv_page.a qkv_widget)  # for the report of a check, and the panel in notebooks
grep -qs '^QKV_EMBED_PAGE:BOOL=OFF$' build/CMakeCache.txt && pages=(libqkv_no_page.a)
scripts/build.sh "${pages[@]}"
.venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  -C build-dir=build-python -C cmake.define.QKV_PREBUILT="$PWD/build" -v .
.venv/bin/python -m pytest tests/python -q ${junit:+--junitxml="$junit"}
