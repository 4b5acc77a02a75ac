#!/usr/bin/env bash
# Installs node and npm by apt-get where they are missing; other scripts of this folder call it.
# usage: scripts/install_node.sh
set -euo pipefail

command -v npm >/dev/null && command -v node >/dev/null && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "node 20 or newer and npm are missing: install them, or run install_node.sh as root on Debian or Ubuntu." >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
