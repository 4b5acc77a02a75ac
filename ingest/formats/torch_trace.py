"""Traces of the PyTorch profiler (Kineto), and Chrome traces of other programs: JSON, also as gzip or zip."""

from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, is_trace
from profiledb.report.sidecar import TRACES


def matches(path: Path) -> bool:
    """Return True if a file starts like a trace, compressed or not."""
    return is_trace(path)


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.torch import load  # here: it imports numpy and pyarrow

    load.load_trace(db, source)


FORMAT = Format(
    name="PyTorch profiler trace",
    kind="torch",
    endings={ending: 15 if ending.endswith((".gz", ".zip")) else 1 for ending in TRACES if ".trace." in ending},
    misnamed=("does not start like a trace of the PyTorch profiler", "Copy it again from its source."),
    cost=LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
