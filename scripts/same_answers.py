#!/usr/bin/env python3
"""Check that two checkouts give the same answers, byte for byte: every analysis and the summary of every report of a
folder.

usage: scripts/same_answers.py BEFORE AFTER [REPORTS]     (checkouts; REPORTS: a folder, default AFTER/sample_reports)

Each checkout imports the reports by itself and prints its answers through its own command line. Differences, and
questions that only one of them can answer, are listed; the exit status is then 1.
"""

import filecmp
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run_command(checkout: Path, *arguments: str) -> str:
    """Return the output of a checkout's command."""
    environment = os.environ | {"WARPDECK_SAMPLES": "off", "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout


def write_answers(checkout: Path, reports: Path, folder: Path) -> None:
    """Write every answer of a checkout into ``folder``: a folder per report, a file per analysis."""
    library = folder.with_suffix(".library")
    run_command(checkout, "ingest", "--once", "--inbox", str(reports), "--library", str(library))
    for report in json.loads(run_command(checkout, "profiledb", "list", "--format", "json", "--library", str(library))):
        if report["status"] != "ready":
            continue
        into = folder / report["name"]
        run_command(checkout, "profiledb", "export_stats", report["id"], str(into), "--library", str(library))
        text = run_command(checkout, "profiledb", "summary", report["id"], "--library", str(library))
        (into / "summary.md").write_text(text, encoding="utf-8")


def list_files(folder: Path) -> set[Path]:
    """Return the files below a folder by relative path."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def main() -> int:
    """Compare and return 0 if nothing differs."""
    before, after = (Path(name).resolve() for name in sys.argv[1:3])
    reports = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else after / "sample_reports"
    with tempfile.TemporaryDirectory() as work:
        folders = [Path(work) / "before", Path(work) / "after"]
        for checkout, folder in zip((before, after), folders, strict=True):
            write_answers(checkout, reports, folder)
        one, other = map(list_files, folders)
        differ = [
            path for path in sorted(one & other) if not filecmp.cmp(folders[0] / path, folders[1] / path, shallow=False)
        ]
    for word, paths in (("differs", differ), ("only before", sorted(one - other)), ("only after", sorted(other - one))):
        for path in paths:
            print(f"{word}: {path}")
    print(f"{len(one & other) - len(differ):,} of {len(one & other):,} answers are the same")
    return int(bool(differ or one ^ other))


if __name__ == "__main__":
    sys.exit(main())
