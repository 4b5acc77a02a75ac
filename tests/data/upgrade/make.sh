#!/bin/sh
# Makes a library with the program of a commit and packs it beside this file, without the inbox that it was made from:
#     PYTHON=.venv/bin/python tests/data/upgrade/make.sh e185d1b
# A report of Nsight Systems with its sidecar and one of Nsight Compute, both labeled, the one linked to the other.
set -eu
commit=$1
python=$(realpath -s "${PYTHON:-$(command -v python)}")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'git -C "$here" worktree remove --force "$work/tree"; rm -rf "$work"' EXIT
git -C "$here" worktree add --detach "$work/tree" "$commit"
cd "$work/tree"
mkdir "$work/inbox"
cp sample_reports/attention.sqlite sample_reports/attention.meta.json tests/data/ncu/details_2024.csv "$work/inbox"
export PYTHONPATH="$work/tree" PYTHONSAFEPATH=1
"$python" -m ingest --once --strict --inbox "$work/inbox" --library "$work/library" --samples off
"$python" - "$work/library" <<'END'
import sys
from pathlib import Path

try:
    from profiledb.report.library import Library
except ImportError:  # of the first versions
    from profiledb.library import Library

library = Library(Path(sys.argv[1]))
reports = {report.kind: report.id for report in library.list()}
library.catalog.set_labels(reports["nsys"], ["baseline", "kept over the upgrade"])
library.catalog.set_labels(reports["ncu"], ["counters"])
library.link(reports["nsys"], reports["ncu"])
END
"$python" -c "import sqlite3; print(sqlite3.connect('$work/library/catalog.sqlite').execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone())"
rm -rf "$work/library/work" "$work/library/answers" "$work/library/derived" "$work/library/summaries.sqlite"* "$work/library/worker.lock"
XZ_OPT=-9e tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work" -cJf "$here/$commit.tar.xz" library
ls -l "$here/$commit.tar.xz"
