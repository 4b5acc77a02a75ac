#!/usr/bin/env bash
# Installs the OpenID provider that tests of the login use (npm's oidc-provider, which the OpenID Foundation certified) into
# .tools/oidc/, which git ignores; node and npm by apt-get where they are missing. Does nothing where it is there already.
# usage: scripts/install_oidc.sh
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=9.13
[ -d .tools/oidc/node_modules/oidc-provider ] && command -v node >/dev/null && exit 0
scripts/install_node.sh
mkdir -p .tools/oidc
npm install --prefix .tools/oidc --no-save --no-package-lock --no-audit --no-fund --silent "oidc-provider@$VERSION"
