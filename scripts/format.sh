#!/usr/bin/env bash
# Puts every C and C++ file into the project's format. Usage: scripts/format.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

action=(-i)
if [[ ${1-} == --check ]]; then action=(--dry-run --Werror); fi
git ls-files -z --cached --others --exclude-standard '*.cc' '*.c' '*.h' | xargs -0 clang-format-19 "${action[@]}"
