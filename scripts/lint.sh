#!/usr/bin/env bash
# Formatting, clang-tidy, shellcheck and ruff; a finding of any is an error. Usage: scripts/lint.sh [--quick] [--junit FILE]
# --quick keeps clang-tidy to the product's own sources; the tests and their big headers take as long again and more.
# shellcheck disable=SC2317  # check() calls the functions by name
set -euo pipefail
cd "$(dirname "$0")/.."

sources='(src|apps|bench|examples|tests)/'
if [[ ${1-} == --quick ]]; then
  sources='(src/.*(?<!_bench)|(apps|bench)/.*)(?<!_test)\.cc$'
  shift
fi
junit=""
if [[ ${1-} == --junit ]]; then junit=$2; fi
cases=""
failed=0

# Runs one linter, keeps its verdict for the report.
check() {
  local name=$1
  shift
  echo "lint: $name"
  if "$@"; then
    cases+="<testcase name=\"lint $name\"/>"
  else
    failed=1
    cases+="<testcase name=\"lint $name\"><failure/></testcase>"
  fi
}

tidy() {
  cmake --preset tidy -DCMAKE_CXX_CLANG_TIDY= >/dev/null
  # Only sources that are compiled as they stand: the database has generated ones too.
  run-clang-tidy-19 -quiet -p build-tidy "^$PWD/$sources" >build-tidy/tidy.log 2>&1 ||
    { grep -E 'warning:|error:' build-tidy/tidy.log | sort -u; return 1; }
}

ruff() {
  if [[ -x .venv/bin/ruff ]]; then
    .venv/bin/ruff check .
  else
    echo "lint: ruff is left out (make python installs it)"
  fi
}

mapfile -t shell_files < <(git ls-files '*.sh' .ci/run)
check format scripts/format.sh --check
check shellcheck shellcheck "${shell_files[@]}"
check ruff ruff
check clang-tidy tidy
if [[ -n $junit ]]; then echo "<testsuite>$cases</testsuite>" >"$junit"; fi
exit "$failed"
