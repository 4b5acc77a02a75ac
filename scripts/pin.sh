#!/usr/bin/env bash
# Writes constraints.txt anew: the newest version of everything that pyproject.toml allows, extras included.
# usage: scripts/pin.sh [PYTHON]     (PYTHON: the oldest supported interpreter, 3.11, so that every pin installs there)
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${1:-python3}" -m venv "$work/venv"
# torch stays at the version that the workloads are tested with; a newer one is a decision, not an update.
grep '^torch==' constraints.txt > "$work/held.txt"
"$work/venv/bin/python" -m pip install --quiet -c "$work/held.txt" '.[dev]'

{
  sed -n '/^#/p' constraints.txt
  # No local version labels (torch's +cpu), no packages of one GPU driver, neither pip nor Warpdeck itself.
  "$work/venv/bin/python" -m pip freeze --all --exclude pip --exclude warpdeck |
    sed -E 's/\+[a-z0-9.]+$//' |
    grep -Ev '^(cuda-|nvidia-(cu|nccl|nvjitlink|nvshmem|nvtx)|triton==)' |
    sort --ignore-case
} > "$work/constraints.txt"
mv "$work/constraints.txt" constraints.txt
