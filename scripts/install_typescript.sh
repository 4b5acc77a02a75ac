#!/usr/bin/env bash
# Installs what checks the types of the timeline's scripts: node and npm by apt-get where they are missing, and TypeScript
# into .tools/, which git ignores. Does nothing where it is there already.
# usage: scripts/install_typescript.sh
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=5.9
[ -x .tools/node_modules/.bin/tsc ] && command -v node >/dev/null && exit 0
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "install_typescript.sh needs node and npm: install them, or run it as root on Debian or Ubuntu." >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
mkdir -p .tools
npm install --prefix .tools --no-save --no-package-lock --no-audit --no-fund --silent "typescript@$VERSION"
.tools/node_modules/.bin/tsc --version
