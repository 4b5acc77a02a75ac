"""Traces of Perfetto (``.pftrace``), also compressed by gzip."""

from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, read_head

_PACKETS = 3
"""Packets that are looked at."""
_MOST_FIELD = 1000
"""Highest number of a field of a packet; extensions have higher ones."""
_WIDTH = {1: 8, 5: 4}
"""Bytes of a value by its type on the wire; 0 is a number, 2 has its length before it."""


def matches(path: Path) -> bool:
    """Return True if a file starts with packets: each with a length, and fields that fill it."""
    return _starts_with_packets(read_head(path))


def _starts_with_packets(data: bytes) -> bool:
    """Return True if bytes start with packets, of which the last may be cut."""
    at = fields = 0
    try:
        for _ in range(_PACKETS):
            tag, at = _read_number(data, at)
            length, at = _read_number(data, at)
            if tag != 0x0A:
                return False
            end = at + length
            while at < end:
                tag, at = _read_number(data, at)
                if not 0 < tag >> 3 < _MOST_FIELD or tag & 7 not in (0, 2, *_WIDTH):
                    return False
                value, at = _read_number(data, at) if tag & 7 in (0, 2) else (_WIDTH[tag & 7], at)
                at += value if tag & 7 else 0
                fields += 1
            if at != end:
                return False
    except EOFError:
        pass
    return fields > 0


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the place after it.

    Raises:
        EOFError: the bytes end before it does.
    """
    value = 0
    for shift in range(10):
        if at >= len(data):
            raise EOFError
        value |= (data[at] & 127) << 7 * shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    return 0, at


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.perfetto import load  # here: it imports numpy, pyarrow and protobuf

    load.load_trace(db, source)


FORMAT = Format(
    name="trace of Perfetto",
    kind="perfetto",
    endings={".pftrace": 2, ".perfetto-trace": 2, ".pftrace.gz": 15},
    misnamed=("does not start like a trace of Perfetto", "Copy it again from its source, or capture again."),
    cost=LOOK_BYTES + 1,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
