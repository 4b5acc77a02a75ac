"""Memory snapshots of PyTorch (``torch.cuda.memory._dump_snapshot``): pickle or JSON, also packed by gzip."""

import re
from pathlib import Path

import duckdb

from ingest.torch.source import LOOK_BYTES, unpacked
from profiledb.report.store import Access

NAME = "PyTorch memory snapshot"
KIND = "snapshot"
RUNS_TOOLS = False

_PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[}\]]", re.DOTALL)
_PICKLED = re.compile(rb"(?:segments|device_traces|total_size|segment_type)")
_JSON = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*"(?:segments|device_traces|allocator_settings|external_annotations)"\s*:\s*[\[{]'
    rb'|\[\s*\{\s*"(?:device|address|total_size)"\s*:\s*\d[^{]*"(?:total_size|allocated_size)"\s*:)'
)


def matches(path: Path) -> bool:
    """Whether a file begins as a snapshot does, packed or not."""
    try:
        with path.open("rb") as file:
            head = unpacked(file.read(LOOK_BYTES))
    except OSError:
        return False
    return bool(_JSON.match(head) or (_PICKLE.match(head) and _PICKLED.search(head[:512])))


def access(source: Path) -> Access:
    """The load needs nothing; see Format.access."""
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Loads the snapshot; nothing in it is executed.

    Raises:
        ConversionError: it holds no memory, or instructions that no snapshot needs.
    """
    from ingest.snapshot import load  # here: it imports pyarrow, and every worker asks ``matches``

    load.load(db, source)
