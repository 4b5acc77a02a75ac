"""The SQLite export of a report as plain Python objects: each file is read once, in whole tables.

Everything in this package is computed from these objects, with neither SQL nor code of the product, so that its answers
can be compared with those of the analyses.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PUSH_POP = {59, 70}
START_END = {60, 71}


@dataclass(eq=False, slots=True)
class Call:
    """A CUDA call of the host, or one into the operating system."""

    row: int
    start: int
    end: int
    tid: int
    name: str
    correlation: int | None = None


@dataclass(eq=False, slots=True)
class Range:
    """An NVTX range; ``text`` is its name without that of its domain."""

    row: int
    start: int
    end: int
    closed: bool
    tid: int
    crosses: bool
    domain: str
    text: str
    payload: bytes

    @property
    def name(self) -> str:
        return f"{self.domain}:{self.text}" if self.domain else self.text


@dataclass(eq=False, slots=True)
class Operation:
    """An operation of a GPU: ``kind`` is kernel, memcpy, memset or graph; ``facts`` is its row in the export."""

    row: int
    kind: str
    start: int
    end: int
    device: int
    stream: int
    pid: int
    call: Call | None
    name: str
    short: str
    facts: Row

    @property
    def ns(self) -> int:
        return self.end - self.start


@dataclass(eq=False)
class Capture:
    """An export. Times are ns on its clock; ``start`` and ``end`` are those of the capture on the same clock."""

    path: Path
    tables: dict[str, list[Row]]
    strings: dict[int, str]
    calls: list[Call] = field(default_factory=list)
    os_calls: list[Call] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    @property
    def kernels(self) -> list[Operation]:
        return [one for one in self.operations if one.kind == "kernel"]

    @property
    def copies(self) -> list[Operation]:
        """Copies and memory sets."""
        return [one for one in self.operations if one.kind in ("memcpy", "memset")]

    @cached_property
    def window(self) -> tuple[int, int]:
        """The stated times if the operations (else OpenMP regions) fit, else the stated length from 0, else theirs."""
        (stated,) = self.tables["ANALYSIS_DETAILS"]
        low, high, length = stated["startTime"], stated["stopTime"], stated["duration"]
        regions = [(row["start"], row["end"]) for row in self.table("OPENMP_EVENT_KIND_PARALLEL")]
        worked = [(one.start, one.end) for one in self.operations] or regions
        if not worked:
            return low, high
        first, last = min(start for start, _ in worked), max(end for _, end in worked)
        if low <= first and high >= last:
            return low, high
        return (0, length) if first >= 0 and length >= last else (first, max(last, first + length))

    @property
    def start(self) -> int:
        return self.window[0]

    def table(self, name: str) -> list[Row]:
        return self.tables.get(name, [])

    def string(self, number: int | None) -> str:
        """The text of an id; "" for an unknown one."""
        return self.strings.get(number, "") if number is not None else ""

    def labels(self, enum: str) -> dict[int, str]:
        """The names of an enumeration of the export by number."""
        return {row["id"]: row["label"] for row in self.table(f"ENUM_{enum}")}


WANTED = (
    *("StringIds", "ANALYSIS_DETAILS", "NVTX_EVENTS", "OSRT_API", "ThreadNames", "TARGET_INFO_SESSION_START_TIME"),
    *("TARGET_INFO_GPU", "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES", "NVTX_PAYLOAD_ENUM_ENTRIES"),
    *("ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "SCHED_EVENTS"),
    *(f"OPENMP_EVENT_KIND_{kind}" for kind in ("PARALLEL", "TASK", "SYNC_REGION", "MUTEX_WAIT")),
    *(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")),
)


@cache
def read(path: Path) -> Capture:
    """The capture in an export."""
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as db:
        db.row_factory = sqlite3.Row
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        tables = {
            name: [dict(row) for row in db.execute(f"SELECT * FROM {name} ORDER BY rowid")]
            for name in WANTED
            if name in there
        }
    strings = {row["id"]: row["value"] for row in tables["StringIds"]}
    found = Capture(path, tables, strings)
    found.calls = _calls(found, "CUPTI_ACTIVITY_KIND_RUNTIME")
    found.os_calls = [call for call in _calls(found, "OSRT_API") if call.correlation == 27]
    found.ranges = _ranges(found)
    found.operations = _operations(found)
    return found


def _calls(capture: Capture, table: str) -> list[Call]:
    joined = "eventClass" if table == "OSRT_API" else "correlationId"
    return [
        Call(number, r["start"], r["end"], r["globalTid"], capture.string(r["nameId"]), r[joined])
        for number, r in enumerate(capture.table(table), 1)
    ]


def _ranges(capture: Capture) -> list[Range]:
    events = capture.table("NVTX_EVENTS")
    last = max((max(r["start"] or 0, r["end"] or 0) for r in events), default=0)
    domains = {
        (r["globalTid"] >> 24, r["domainId"]): _text(capture, r) for r in events if r["eventType"] == 75
    }  # a domain is made in its process
    return [
        Range(
            number,
            r["start"],
            last if r["end"] is None else r["end"],
            r["end"] is not None,
            r["globalTid"],
            r["endGlobalTid"] is not None and r["endGlobalTid"] != r["globalTid"],
            domains.get((r["globalTid"] >> 24, r["domainId"]), ""),
            _text(capture, r),
            r.get("binaryData") or b"",
        )
        for number, r in enumerate(events, 1)
        if r["eventType"] in PUSH_POP | START_END
    ]


def _text(capture: Capture, row: Row) -> str:
    text: str | None = row["text"]
    return text if text is not None else capture.string(row["textId"])


def _operations(capture: Capture) -> list[Operation]:
    launched: dict[tuple[int, int | None], Call] = {}
    for call in capture.calls:
        launched.setdefault((call.tid >> 24, call.correlation), call)
    found = []
    for table, kind in (("KERNEL", "kernel"), ("MEMCPY", "memcpy"), ("MEMSET", "memset"), ("GRAPH_TRACE", "graph")):
        for number, r in enumerate(capture.table(f"CUPTI_ACTIVITY_KIND_{table}"), 1):
            by = launched.get((r["globalPid"] >> 24, r["correlationId"]))
            where = (r["deviceId"], r["streamId"], r["globalPid"] >> 24 & 0xFFFFFF)
            names = (capture.string(r.get("demangledName")), capture.string(r.get("shortName")))
            found.append(Operation(number, kind, r["start"], r["end"], *where, by, *names, r))
    return found
