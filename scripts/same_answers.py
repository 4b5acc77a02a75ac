#!/usr/bin/env python3
"""Whether two checkouts answer the same, byte for byte: every analysis and the summary of every report of a folder.

usage: scripts/same_answers.py BEFORE AFTER [REPORTS]     (checkouts; REPORTS: a folder, default AFTER/sample_reports)

Each checkout takes the reports in by itself and prints its answers through its own command line. What differs is
listed, and the exit status is 1. What only one of them can be asked is listed, too.
"""

import filecmp
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def ask(checkout: Path, *arguments: str) -> str:
    """What a command of a checkout prints."""
    environment = os.environ | {"WARPDECK_SAMPLES": "off", "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout


def answers(checkout: Path, reports: Path, folder: Path) -> None:
    """Writes every answer of a checkout into ``folder``: a folder a report, a file an analysis."""
    library = folder.with_suffix(".library")
    ask(checkout, "ingest", "--once", "--inbox", str(reports), "--library", str(library))
    for report in json.loads(ask(checkout, "profiledb", "list", "--format", "json", "--library", str(library))):
        if report["status"] != "ready":
            continue
        into = folder / report["name"]
        ask(checkout, "profiledb", "export_stats", report["id"], str(into), "--library", str(library))
        text = ask(checkout, "profiledb", "summary", report["id"], "--library", str(library))
        (into / "summary.md").write_text(text, encoding="utf-8")


def files(folder: Path) -> set[Path]:
    """The files below a folder, by their path in it."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def main() -> int:
    """Compares; 0 where nothing differs."""
    before, after = (Path(name).resolve() for name in sys.argv[1:3])
    reports = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else after / "sample_reports"
    with tempfile.TemporaryDirectory() as work:
        folders = [Path(work) / "before", Path(work) / "after"]
        for checkout, folder in zip((before, after), folders, strict=True):
            answers(checkout, reports, folder)
        one, other = map(files, folders)
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
