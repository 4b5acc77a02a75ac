#!/usr/bin/env bash
# Installs the second S3 server of the tests, OpenStack Swift of PyPI, into .tools/swift/, which git ignores. It has an
# interpreter of its own: nothing of it comes near the product. Does nothing where it is there already.
# usage: scripts/install_swift.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=2.38.3
[ "${WARPDECK_SWIFT:-}" = off ] && exit 0
[ -x .tools/swift/bin/swift-proxy-server ] && exit 0
"${1:-python3}" -m venv .tools/swift
.tools/swift/bin/pip --disable-pip-version-check install --quiet "swift==$VERSION"
