"""Profiles of XLA's profiler: JAX, TensorFlow, PyTorch/XLA (``.xplane.pb``)."""

import re
from pathlib import Path

import duckdb

from ingest.formats import Format

_PLANE = re.compile(
    rb"\x0a[\x80-\xff]{0,4}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f](/host:|/device:|Task )"
)
"""The start of the first plane: its length, its number unless that is 0, its name."""

_LOOK_BYTES = 1 << 10


def matches(path: Path) -> bool:
    """Return True if a file starts like a profile: with a plane of a host or a device."""
    try:
        with path.open("rb") as file:
            return _PLANE.match(file.read(_LOOK_BYTES)) is not None
    except OSError:
        return False


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.xplane import load  # here: it imports numpy, pyarrow and protobuf

    load.load_profile(db, source)


FORMAT = Format(
    name="XLA profile",
    kind="xla",
    endings={".xplane.pb": 1},
    misnamed=("does not start like a profile of XLA", "Copy it again from its source, or capture again."),
    cost=_LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
