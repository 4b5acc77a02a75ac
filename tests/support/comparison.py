"""Helpers for tests of comparisons: one side of a comparison, and the command line."""

import io
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from profiledb.access.cli import main as cli
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.compare import matching
from profiledb.studies.compare.matching import Side
from tests.conftest import ROOT


def side(library: Library, report_id: str, **params: Any) -> Side:
    """Return a report under a selection as one side of a comparison."""
    return matching.gather(lambda one, **more: analysis.run(library, report_id, one, {**params, **more}))


def process(library: Library, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m profiledb compare`` as a user would."""
    words = [sys.executable, "-m", "profiledb", *_words(library, argv)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def command(library: Library, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run the same command in this process, where all imports are already loaded."""
    words = _words(library, argv)
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            status = cli.main(words)
        except SystemExit as end:  # an invalid command line
            status = int(end.code or 0)
        out.flush()
        errors.flush()
    stdout, stderr = (one.buffer.getvalue().decode() for one in (out, errors))
    return subprocess.CompletedProcess(words, status, stdout, stderr)


def _words(library: Library, argv: Sequence[str]) -> list[str]:
    return ["compare", *argv, "--library", str(library.folder)]
