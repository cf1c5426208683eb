#!/usr/bin/env bash
# Installs what the page and the npm package are built with into web/node_modules, if its lock file has changed.
set -euo pipefail
cd "$(dirname "$0")/../web"

readonly stamp=node_modules/.installed-lock.json  # a copy of the lock file that node_modules was made from
if cmp -s package-lock.json "$stamp"; then exit 0; fi
echo "page: installing what it is built with into web/node_modules"
npm ci --no-audit --no-fund --loglevel=error
cp package-lock.json "$stamp"
