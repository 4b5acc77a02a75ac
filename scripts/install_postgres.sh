#!/usr/bin/env bash
# Installs what tests of a team's catalog run: Debian's PostgreSQL server. No server is started for it: tests start their own.
# usage: scripts/install_postgres.sh     (root, on Debian or Ubuntu; does nothing where a server is there already)
set -euo pipefail

[ "${WARPDECK_POSTGRES:-}" = off ] && exit 0
installed() { ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null; }
installed && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "install_postgres.sh needs root and apt-get (Debian or Ubuntu). Elsewhere set WARPDECK_POSTGRES to the folder of postgres and initdb." >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
apt-get -qq update
apt-get install -y -qq --no-install-recommends postgresql >/dev/null
installed
