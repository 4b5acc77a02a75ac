"""Traces of AMD's older rocprof (``results.json``), also compressed by gzip: a Chrome trace of its own kind."""

import re
from pathlib import Path

import duckdb

from ingest.torch.source import LOOK_BYTES, read_head
from profiledb.report.store import Access

NAME = "trace of rocprof"
KIND = "rocprof"
ENDINGS: dict[str, int] = {}
MISNAMED = ("is no trace of rocprof", "Capture with: rocprofv3 --sys-trace --output-format json")
COST = LOOK_BYTES
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)

_START = re.compile(rb'\s*\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}\s*,')
_LABEL = re.compile(rb'"name"\s*:\s*"(?:\d+ )?(?:CPU H(?:IP|SA) API|COPY|GPU\d+)"')


def matches(path: Path) -> bool:
    """Return True if a trace begins with an empty event and names the processes that rocprof makes of its records."""
    head = read_head(path)
    return _START.match(head) is not None and _LABEL.search(head) is not None


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the trace.

    Raises:
        ConversionError: no slice with a time.
    """
    from ingest.rocprof import trace_json  # here: it imports numpy and pyarrow

    trace_json.load_trace(db, source)
