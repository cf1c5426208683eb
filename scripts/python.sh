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

readonly requirements=tests/python/requirements.txt
readonly stamp=.venv/requirements.installed  # a copy of the file that the environment was made from

# Succeeds with an environment; 3 if the registry did not answer.
make_environment() {
  if cmp -s "$requirements" "$stamp"; then return 0; fi
  echo "python: installing into .venv: $(sed -n 's/==.*//p' "$requirements" | tr '\n' ' ')"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  local log=.venv/pip.log
  # An older onnx beside the newer one, for its files: node cases as they were published. (onnx_cases.py)
  local -r pip=(.venv/bin/python -m pip install --disable-pip-version-check --retries 1 --timeout 20)
  if { "${pip[@]}" -r "$requirements" && "${pip[@]}" --no-deps --upgrade --target .venv/onnx-1.22.0 onnx==1.22.0; } 2>&1 |
    tee "$log"; then
    cp "$requirements" "$stamp"
  elif grep -qE 'NewConnectionError|NameResolution|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Retrying' "$log"; then
    return 3
  else
    return 1
  fi
}

status=0
make_environment || status=$?
if [[ $status -eq 3 ]]; then
  echo "the Python package and its tests (PyPI could not be reached)" | tee "$left_out"
  exit 0
elif [[ $status -ne 0 ]]; then
  exit "$status"
fi

# The libraries come from build/, and the module's own folder stays, so that nothing is compiled twice.
scripts/build.sh libqkv.a libqkv_check.a
page=libqkv_page.a  # for the report of a check
grep -qs '^QKV_EMBED_PAGE:BOOL=OFF$' build/CMakeCache.txt && page=libqkv_no_page.a
scripts/build.sh "$page"
.venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  -C build-dir=build-python -C cmake.define.QKV_PREBUILT="$PWD/build" -v .
.venv/bin/python -m pytest tests/python -q ${junit:+--junitxml="$junit"}
