"""Kernels of XLA profiles against xprof's own counts.

``XPROF`` names a Python that has xprof (``python -m venv X && X/bin/pip install xprof``: ``X/bin/python``).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, ingest_files

XPROF = os.environ.get("XPROF", "")
KERNELS = """
import sys
from xprof.convert import raw_to_tool_data
table, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "kernel_stats", {})
print(table.decode() if isinstance(table, bytes) else table)
"""
NAMES = ("jax_conv_mi300.xplane.pb", "jax_te_attention.xplane.pb")
pytestmark = [
    pytest.mark.skipif(not XPROF, reason="needs a Python with xprof, named by XPROF"),
    pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here"),
]


@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_those_of_xprof(tmp_path: Path, name: str) -> None:
    alone = tmp_path / "alone"  # xprof reads all profiles of a folder, and leaves a file there
    alone.mkdir()
    shutil.copy(CORPUS / name, alone / name)
    done = subprocess.run([XPROF, "-c", KERNELS, str(alone / name)], capture_output=True, text=True, check=True)
    table = json.loads(done.stdout.splitlines()[-1])
    at = {column["id"]: place for place, column in enumerate(table["cols"])}
    rows = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
    theirs = (
        sum(int(row[at["occurrences"]]) for row in rows),
        round(sum(1000 * float(row[at["total_duration_us"]]) for row in rows)),
    )
    ingest_files(tmp_path, [CORPUS / name])
    library = Library(tmp_path / "library")
    ours = analysis.run(library, library.find(name).id, "kernels")
    assert (ours["calls"].sum(), ours["total_ns"].sum()) == theirs
