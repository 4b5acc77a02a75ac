"""Profiles of Triton's proton (``.hatchet``): JSON, also compressed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.torch.source import LOOK_BYTES, read_head
from profiledb.report.store import Access

NAME = "profile of Triton's proton"
KIND = "proton"
ENDINGS = {".hatchet": 1, ".hatchet.gz": 15}
MISNAMED = ("does not start like a profile of proton", 'Capture with: triton.profiler.start("run", data="tree")')
COST = LOOK_BYTES + 2
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)

_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*(?:"children"\s*:\s*\[\s*(?:\{\s*"(?:children|frame|metrics)"|\])'
    rb'|"frame"\s*:\s*\{\s*"(?:name|type)")'
)


def matches(path: Path) -> bool:
    """Return True if a file starts like a tree of frames."""
    return _START.match(read_head(path)) is not None


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the profile.

    Raises:
        ConversionError: no frame has a figure.
    """
    from ingest.proton import load  # here: it imports pyarrow

    load.load_profile(db, source)
