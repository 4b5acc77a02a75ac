#!/usr/bin/env bash
# Installs the OpenID provider that tests of the login use (npm's oidc-provider, which the OpenID Foundation certified) into
# .tools/oidc/, which git ignores; node and npm by apt-get where they are missing. Does nothing where it is there already.
# usage: scripts/install_oidc.sh
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=9.13
[ -d .tools/oidc/node_modules/oidc-provider ] && command -v node >/dev/null && exit 0
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "install_oidc.sh needs node 20 or newer and npm: install them, or run it as root on Debian or Ubuntu." >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
mkdir -p .tools/oidc
npm install --prefix .tools/oidc --no-save --no-package-lock --no-audit --no-fund --silent "oidc-provider@$VERSION"
