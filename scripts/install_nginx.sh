#!/usr/bin/env bash
# Installs what tests of several servers behind a proxy run: Debian's nginx. No server is started, now or when the
# machine starts: tests start their own.
# usage: scripts/install_nginx.sh     (root, on Debian or Ubuntu; does nothing where nginx is there already)
set -euo pipefail

[ "${WARPDECK_NGINX:-}" = off ] && exit 0
installed() { PATH="$PATH:/usr/sbin" command -v nginx; }
installed && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "install_nginx.sh needs root and apt-get (Debian or Ubuntu). Elsewhere install nginx, or set WARPDECK_NGINX to it." >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d # asked before a package starts anything
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt-get -qq update
apt-get install -y -qq --no-install-recommends nginx >/dev/null
if command -v systemctl >/dev/null; then
  systemctl --quiet disable nginx
fi
installed
