#!/usr/bin/env bash
# Makes build-wheel/: the Python package as a wheel that needs nothing of the machine, and as a source package.
# PYTHON=python3.13 scripts/wheel.sh builds with another Python than python3: a wheel of 3.12 or later serves all that
# are later still. What it builds with goes into .venv-build. Ends with 3 if PyPI could not be reached for that.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly environment=.venv-build
readonly stamp=$environment/requirements.txt  # what it was made from

# What a build needs is in pyproject.toml; left alone, pip would install it anew for every build.
requirements() {
  "${PYTHON:-python3}" - <<'END'
import platform, tomllib
print("# Python", platform.python_version())
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
END
}

make_environment() {
  local wanted jaxlib
  wanted=$(requirements)
  jaxlib=$(sed -n 's/^jax==/jaxlib==/p' tests/python/requirements-torch.txt)  # qkv.jax is built with its headers
  if [[ -f $stamp && $(<"$stamp") == "$wanted"$'\n'"$jaxlib" ]]; then return 0; fi
  echo "wheel: installing into $environment what the package is built with"
  rm -rf "$environment" build-python
  "${PYTHON:-python3}" -m venv "$environment"
  scripts/pip_install.sh "$environment" -r /dev/stdin <<<"$wanted"
  scripts/pip_install.sh "$environment" --no-deps "$jaxlib"
  printf '%s\n' "$wanted" "$jaxlib" >"$stamp"
}

make_environment

# The libraries come from build/, and the module's own folder stays, so that nothing is compiled twice.
scripts/build.sh libqkv.a libqkv_check.a
pages=(libqkv_page.a qkv_widget)  # for the report of a check, and the panel in notebooks
if grep -qs '^QKV_EMBED_PAGE:BOOL=OFF$' build/CMakeCache.txt; then pages=(libqkv_no_page.a); fi
scripts/build.sh "${pages[@]}"

rm -rf build-wheel
"$environment/bin/python" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps --verbose \
  --wheel-dir build-wheel -C build-dir=build-python -C cmake.define.QKV_PREBUILT="$PWD/build" .
"$environment/bin/python" -c 'from scikit_build_core.build import build_sdist; build_sdist("build-wheel")'
ls -l build-wheel
