"""JSON of AMD's rocprofv3 (``--output-format json``), also compressed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.torch.source import LOOK_BYTES, read_head
from profiledb.report.store import Access

NAME = "JSON of rocprofv3"
KIND = "rocprof"
ENDINGS = {"_results.json.gz": 15, "_results.json": 1}
MISNAMED = ("does not start like the JSON of rocprofv3", "Capture with: rocprofv3 --sys-trace --output-format json")
COST = LOOK_BYTES
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')


def matches(path: Path) -> bool:
    """Return True if a file starts like the JSON of rocprofv3, compressed or not."""
    return _START.match(read_head(path)) is not None


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the capture.

    Raises:
        ConversionError: no record with a time.
    """
    from ingest.rocprof import json_capture  # here: it imports numpy and pyarrow

    json_capture.load_capture(db, source)
