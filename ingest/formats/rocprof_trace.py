"""Traces of AMD's older rocprof (``results.json``), also compressed by gzip: a Chrome trace of its own kind."""

import re
from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, read_head

_START = re.compile(rb'\s*\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}\s*,')
_LABEL = re.compile(rb'"name"\s*:\s*"(?:\d+ )?(?:CPU H(?:IP|SA) API|COPY|GPU\d+)"')


def matches(path: Path) -> bool:
    """Return True if a trace begins with an empty event and names the processes that rocprof makes of its records."""
    head = read_head(path)
    return _START.match(head) is not None and _LABEL.search(head) is not None


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.rocprof import trace_json  # here: it imports numpy and pyarrow

    trace_json.load_trace(db, source)


FORMAT = Format(
    name="trace of rocprof",
    kind="rocprof",
    misnamed=("is no trace of rocprof", "Capture with: rocprofv3 --sys-trace --output-format json"),
    cost=LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
