"""Memory snapshots of PyTorch (``torch.cuda.memory._dump_snapshot``): pickle or JSON, also compressed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.torch.source import LOOK_BYTES, read_head

_PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[}\]]", re.DOTALL)
_PICKLED = re.compile(rb"(?:segments|device_traces|total_size|segment_type)")
_JSON = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*"(?:segments|device_traces|allocator_settings|external_annotations)"\s*:\s*[\[{]'
    rb'|\[\s*\{\s*"(?:device|address|total_size)"\s*:\s*\d[^{]*"(?:total_size|allocated_size)"\s*:)'
)


def matches(path: Path) -> bool:
    """Return True if a file starts like a snapshot, compressed or not."""
    head = read_head(path)
    return bool(_JSON.match(head) or (_PICKLE.match(head) and _PICKLED.search(head[:512])))


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the snapshot without executing anything in it.

    Raises:
        ConversionError: no memory, or instructions that no snapshot needs.
    """
    from ingest.snapshot import load  # here: it imports pyarrow

    load.load_snapshot(db, source)


FORMAT = Format(
    name="PyTorch memory snapshot",
    kind="snapshot",
    endings={".pickle": 1, ".pkl": 1},
    misnamed=(
        "does not start like a memory snapshot of PyTorch",
        "Other pickles may run code, so they are not opened.",
    ),
    cost=LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.snapshot.load",),
)
