#!/usr/bin/env bash
# Installs what checks the types of the timeline's scripts: node and npm by apt-get where they are missing, and TypeScript
# into .tools/, which git ignores. Does nothing where it is there already.
# usage: scripts/install_typescript.sh
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=5.9
[ -x .tools/node_modules/.bin/tsc ] && command -v node >/dev/null && exit 0
scripts/install_node.sh
mkdir -p .tools
npm install --prefix .tools --no-save --no-package-lock --no-audit --no-fund --silent "typescript@$VERSION"
.tools/node_modules/.bin/tsc --version
