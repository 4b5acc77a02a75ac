"""Traces of the PyTorch profiler (Kineto), and Chrome traces of other programs: JSON, also as gzip or zip."""

from pathlib import Path

import duckdb

from ingest.torch.source import LOOK_BYTES, is_trace
from profiledb.report.sidecar import TRACES
from profiledb.report.store import Access

NAME = "PyTorch profiler trace"
KIND = "torch"
ENDINGS = {ending: 15 if ending.endswith((".gz", ".zip")) else 1 for ending in TRACES if ".trace." in ending}
MISNAMED = ("does not start like a trace of the PyTorch profiler", "Copy it again from its source.")
COST = LOOK_BYTES
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)


def matches(path: Path) -> bool:
    """Return True if a file starts like a trace, compressed or not."""
    return is_trace(path)


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the trace.

    Raises:
        ConversionError: no events, or an archive that holds no trace or several.
    """
    from ingest.torch import load  # here: it imports numpy and pyarrow

    load.load_trace(db, source)
