"""JSON of AMD's rocprofv3 (``--output-format json``), also compressed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, read_head

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')


def matches(path: Path) -> bool:
    """Return True if a file starts like the JSON of rocprofv3, compressed or not."""
    return _START.match(read_head(path)) is not None


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.rocprof import json_capture  # here: it imports numpy and pyarrow

    json_capture.load_capture(db, source)


FORMAT = Format(
    name="JSON of rocprofv3",
    kind="rocprof",
    endings={"_results.json.gz": 15, "_results.json": 1},
    misnamed=("does not start like the JSON of rocprofv3", "Capture with: rocprofv3 --sys-trace --output-format json"),
    cost=LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
