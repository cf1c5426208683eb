#!/usr/bin/env bash
# Installs into a virtual environment. Usage: scripts/pip_install.sh ENVIRONMENT ARGUMENT... (those of `pip install`)
# Ends with 3 if PyPI could not be reached, so that the caller can do without.
set -euo pipefail

readonly environment=$1 log=$1/pip.log
shift
if "$environment/bin/python" -m pip install --disable-pip-version-check --retries 1 --timeout 20 "$@" 2>&1 | tee "$log"; then
  exit 0
fi
if grep -qE 'NewConnectionError|NameResolution|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Retrying' "$log"; then exit 3; fi
exit 1
