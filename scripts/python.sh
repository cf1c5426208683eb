#!/usr/bin/env bash
# Builds the Python package's wheel, installs it into .venv, where there is nothing else than what its tests need, and
# runs them on it. Usage: scripts/python.sh [--junit FILE] [--left-out FILE]
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

# Runs a command unless .venv was made from these requirements: a copy of the file tells.
once() {
  local requirements=$1 stamp
  stamp=.venv/$(basename "$1").installed
  shift
  if cmp -s "$requirements" "$stamp"; then return 0; fi
  echo "python: installing into .venv: $(sed 's/==.*//' "$requirements" | tr '\n' ' ')"
  "$@" || return
  cp "$requirements" "$stamp"
}

install_light() {
  [[ -x .venv/bin/python ]] || python3 -m venv .venv || return
  # An older onnx beside the newer one, for its files: node cases as they were published. (onnx_cases.py)
  scripts/pip_install.sh .venv -r "$light" &&
    scripts/pip_install.sh .venv --no-deps --upgrade --target .venv/onnx-1.22.0 onnx==1.22.0
}

install_large() {
  echo "python: PyTorch is large: 2.5 GB to load, 6 GB on the disk. QKV_WITHOUT_TORCH=1 leaves it and its tests out."
  scripts/pip_install.sh .venv -r "$large"
}

leave_out() { echo "python: left out: $1" && echo "$1" >>"$left_out"; }

# After a step that ended with `status`: leaves out what needs it if PyPI could not be reached, else ends as it did.
leave_out_unreached() {
  local status=$1
  [[ $status -eq 3 ]] || exit "$status"
  leave_out "$2 (PyPI could not be reached)"
}

readonly package="the Python package and its tests"
once "$light" install_light || { leave_out_unreached $? "$package"; exit 0; }
scripts/wheel.sh || { leave_out_unreached $? "$package"; exit 0; }
readonly with_torch="Python's tests with PyTorch, transformers and JAX"
if [[ -n ${QKV_WITHOUT_TORCH-} ]]; then
  leave_out "$with_torch (QKV_WITHOUT_TORCH is set)"
else
  once "$large" install_large || leave_out_unreached $? "$with_torch"
fi
.venv/bin/python -m pip install --disable-pip-version-check --no-deps --no-index --force-reinstall build-wheel/*.whl
.venv/bin/python -m pytest tests/python -q ${junit:+--junitxml="$junit"}
