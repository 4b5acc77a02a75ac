"""Comparisons as tests ask for them: a side of a library's report, and the command line."""

import os
import subprocess
import sys
from typing import Any

from profiledb.query import analysis
from profiledb.report.library import Library
from profiledb.studies.compare import matching
from profiledb.studies.compare.matching import Side
from tests.conftest import ROOT


def side(library: Library, report_id: str, **params: Any) -> Side:
    """A report under a selection."""
    return matching.gather(lambda one, **more: analysis.run(library, report_id, one, {**params, **more}))


def command(library: Library, *argv: str) -> subprocess.CompletedProcess[str]:
    """``python -m profiledb compare``, as a user would run it."""
    words = [sys.executable, "-m", "profiledb", "compare", *argv, "--library", str(library.folder)]
    return subprocess.run(words, cwd=ROOT, env=os.environ | {}, capture_output=True, text=True, check=False)
