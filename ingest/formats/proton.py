"""Profiles of Triton's proton (``.hatchet``): JSON, also compressed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, read_head

_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*(?:"children"\s*:\s*\[\s*(?:\{\s*"(?:children|frame|metrics)"|\])'
    rb'|"frame"\s*:\s*\{\s*"(?:name|type)")'
)


def matches(path: Path) -> bool:
    """Return True if a file starts like a tree of frames."""
    return _START.match(read_head(path)) is not None


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.proton import load  # here: it imports pyarrow

    load.load_profile(db, source)


FORMAT = Format(
    name="profile of Triton's proton",
    kind="proton",
    endings={".hatchet": 1, ".hatchet.gz": 15},
    misnamed=("does not start like a profile of proton", 'Capture with: triton.profiler.start("run", data="tree")'),
    cost=LOOK_BYTES + 2,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
