"""What is known of a report without opening it."""

import json
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Literal

from profiledb.report import schema

Subject = Literal["timeline", "launches"]
TIMELINE: Subject = "timeline"
"""What happened when: kernels, copies, calls, ranges."""
LAUNCHES: Subject = "launches"
"""What hardware counters say of single launches."""
MOST_READ = 50_000
"""Manifests that a process remembers: lists of all reports are read anew whenever one more is there."""


@dataclass(frozen=True)
class Manifest:
    """What is known of a report without opening it; stored beside it as JSON.

    ``kind`` names the tool family that wrote it, for people and file names; what can be asked of it is ``subjects``.
    ``captured_at`` and ``ingested_at`` are ISO 8601 in UTC, ``duration_ns`` is the capture's length, ``rows`` counts
    the rows of each table that has any, ``sample`` marks the reports that come with the product, ``parts`` has the
    bytes of the files of a source that is a folder, ``space`` is that of the file that it was made of (spaces.py).
    """

    id: str
    schema_version: int
    name: str
    kind: str
    source_sha256: str
    source_bytes: int
    tool: str | None = None
    tool_version: str | None = None
    converter: str | None = None
    gpu: str | None = None
    captured_at: str | None = None
    ingested_at: str = ""
    duration_ns: int | None = None
    command: str | None = None
    seconds: float = 0.0
    sample: bool = False
    rows: dict[str, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    space: str = ""

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Reads a manifest, and the same text once; fields that a later version added are ignored.

        Raises:
            ValueError: it is none.
        """
        return _read(text)

    @property
    def subjects(self) -> frozenset[Subject]:
        """What can be asked of the report, by the tables that have rows; one that lacks all of them is a timeline."""
        launches: set[Subject] = {LAUNCHES} if self.rows.get("ncu_launch") else set()
        timeline: set[Subject] = {TIMELINE} if not launches or any(map(self.rows.get, schema.events())) else set()
        return frozenset(timeline | launches)

    def to_json(self) -> str:
        """The manifest as text."""
        return json.dumps(asdict(self), indent=1)


_MANIFEST = frozenset(f.name for f in fields(Manifest))


@lru_cache(maxsize=MOST_READ)
def _read(text: str) -> Manifest:
    try:
        manifest = Manifest(**{key: value for key, value in json.loads(text).items() if key in _MANIFEST})
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a manifest: {error}") from error
    names = ("id", "name", "kind", "source_sha256", "ingested_at", "space")
    texts = [getattr(manifest, name) for name in names]
    if not (all(isinstance(value, str) for value in texts) and isinstance(manifest.rows, dict)):
        raise ValueError("a manifest with values of other types")
    # Thousands of manifests name the same tables.
    return replace(manifest, rows={sys.intern(table): rows for table, rows in manifest.rows.items()})
