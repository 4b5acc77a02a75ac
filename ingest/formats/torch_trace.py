"""Traces of the PyTorch profiler (Kineto), and Chrome traces of other programs: JSON, also packed by gzip or zip."""

from pathlib import Path

import duckdb

from ingest.torch import source as packed
from profiledb.report.store import Access

NAME = "PyTorch profiler trace"
KIND = "torch"
RUNS_TOOLS = False


def matches(path: Path) -> bool:
    """Whether a file begins as a trace does, packed or not."""
    return packed.is_trace(path)


def access(source: Path) -> Access:
    """The load needs nothing; see Format.access."""
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Loads the trace.

    Raises:
        ConversionError: it holds no events, or is packed in a way that no trace is.
    """
    from ingest.torch import load  # here: it imports numpy and pyarrow, and every worker asks ``matches``

    load.load(db, source)
