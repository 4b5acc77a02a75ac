#!/usr/bin/env bash
# Installs what some tests need and this machine lacks (Chromium, nsys, ncu, PostgreSQL, nginx): as root with apt-get, otherwise nothing.
# Always ends well: what could not be installed is told in one line, and the tests that need it are skipped.
# usage: scripts/install_test_tools.sh [PYTHON]     (PYTHON: an interpreter with the test dependencies)
set -uo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || exit 0
for script in $("${1:-python3}" -m tests.support.needs); do
  echo "$script: installing what some tests need"
  said=$("$script" 2>&1) || echo "$script failed, tests that need it are skipped: ${said##*$'\n'}"
done
exit 0
