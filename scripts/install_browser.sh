#!/usr/bin/env bash
# Installs what the browser tests and `make bench` drive: Debian's Chromium and fonts to draw text with.
# usage: scripts/install_browser.sh     (root, on Debian or Ubuntu; does nothing where Chromium is there already)
set -euo pipefail

browser=${WARPDECK_CHROMIUM:-/usr/bin/chromium}
[ "$browser" = off ] && exit 0
if [ -x "$browser" ] && [ -d /usr/share/fonts/truetype/dejavu ]; then
  "$browser" --version
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "install_browser.sh needs apt-get (Debian or Ubuntu). Elsewhere install Chromium by hand and set WARPDECK_CHROMIUM to it." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "install_browser.sh installs system packages: run it as root." >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-liberation >/dev/null
"$browser" --version
