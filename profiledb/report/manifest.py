"""The manifest: facts about a report that need no look at its database."""

import json
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Literal

from profiledb.errors import OlderReportError
from profiledb.report import schema

Subject = Literal["timeline", "launches"]
TIMELINE: Subject = "timeline"
"""The report has times: of kernels, copies, calls, ranges."""
LAUNCHES: Subject = "launches"
"""The report has hardware counters of single launches."""
OLDER = "made by an older version: drop its source again."
"""Message for a report that this version does not read."""
OLDER_HINT = "Labels and links stay. The worker brings it up to date by itself where it can."
FIRST_SAMPLE = "transformer_training.nsys-rep"
"""The sample that is imported first and is at hand until a visitor opens another report: all main pages show it."""
MOST_READ = 1_000
"""Manifests that a process keeps parsed, 3 kB each. Pages and lists ask for a few; few callers read all."""


@dataclass(frozen=True)
class Manifest:
    """Facts about a report, stored beside it as JSON.

    ``kind`` names the tool family that wrote it, for people and file names; ``subjects`` tells which questions it can
    answer. ``captured_at`` and ``ingested_at`` are ISO 8601 in UTC, ``duration_ns`` is the length of the capture,
    ``rows`` counts the rows of each non-empty table, ``sample`` marks the reports that come with the product, ``parts``
    has the bytes of each file if the source is a folder, ``space`` is the space of the source file (spaces.py).
    ``title`` is the name that somebody gave the report; the catalog has it, not the file. ``preparing`` marks a preview
    (preview.py), whose file is still being converted.
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
    title: str = ""
    preparing: bool = False

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Parse a manifest, the same text once; fields that a later version added are ignored.

        Raises:
            ValueError: the text is no manifest.
        """
        return _parse_manifest(text)

    @property
    def subjects(self) -> frozenset[Subject]:
        """Return the subjects that the report can answer, by its non-empty tables; a timeline if it has none."""
        launches: set[Subject] = {LAUNCHES} if self.rows.get("ncu_launch") else set()
        timeline: set[Subject] = {TIMELINE} if not launches or any(map(self.rows.get, schema.list_events())) else set()
        return frozenset(timeline | launches)

    @property
    def shown_name(self) -> str:
        """Return the name for people: the one that somebody gave the report, or else that of its file."""
        return self.title or self.name

    @property
    def is_older(self) -> bool:
        """Return True if an earlier version made the report, in tables that this version does not read."""
        return self.schema_version < schema.SCHEMA_VERSION

    def require_current(self) -> None:
        """Raise OlderReportError for a report that this version does not read."""
        if self.is_older:
            raise OlderReportError(f"{self.name} was {OLDER}", hint=OLDER_HINT)

    def to_json(self) -> str:
        return json.dumps(asdict(replace(self, title="")), indent=1)


_MANIFEST = frozenset(f.name for f in fields(Manifest))


@lru_cache(maxsize=MOST_READ)
def _parse_manifest(text: str) -> Manifest:
    try:
        manifest = Manifest(**{key: value for key, value in json.loads(text).items() if key in _MANIFEST})
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a manifest: {error}") from error
    names = ("id", "name", "kind", "source_sha256", "ingested_at", "space")
    kinds = {"schema_version": int, "rows": dict} | dict.fromkeys(names, str)
    if not all(isinstance(getattr(manifest, name), kind) for name, kind in kinds.items()):
        raise ValueError("a manifest with values of other types")
    # Thousands of manifests share the names of tables.
    return replace(manifest, rows={sys.intern(table): rows for table, rows in manifest.rows.items()})
