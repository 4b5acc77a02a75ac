"""Profiles of XLA's profiler: JAX, TensorFlow, PyTorch/XLA (``.xplane.pb``)."""

import re
from pathlib import Path

import duckdb

from profiledb.report.store import Access

NAME = "XLA profile"
KIND = "xla"
ENDINGS = {".xplane.pb": 1}
MISNAMED = ("does not start like a profile of XLA", "Copy it again from its source, or capture again.")
COST = 1 << 10
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)

_PLANE = re.compile(
    rb"\x0a[\x80-\xff]{0,4}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f](/host:|/device:|Task )"
)
"""The start of the first plane: its length, its number unless that is 0, its name."""


def matches(path: Path) -> bool:
    """Return True if a file starts like a profile: with a plane of a host or a device."""
    try:
        with path.open("rb") as file:
            return _PLANE.match(file.read(COST)) is not None
    except OSError:
        return False


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the profile.

    Raises:
        ConversionError: the file is damaged, or has no events.
    """
    from ingest.xplane import load  # here: it imports numpy, pyarrow and protobuf

    load.load_profile(db, source)
