"""Small hand-made reports with a power log."""

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from profiledb.library.library import Library
from profiledb.report.sidecar import TABLES
from tests.support.page_reports import H100, Publish, insert, kernel, name

CAPTURED_NS = 1_767_225_600_000_000_000
"""Start of the session: 2026-01-01, UTC."""
MS = 1_000_000

Span = tuple[str, float, float]
"""Name, start and end in ms."""


def reading(
    ms: float, joules: float | None, watts: float | None = None, device: int = 0, uuid: str = ""
) -> dict[str, Any]:
    counter = None if joules is None else joules * 1000
    row = {"time_ns": CAPTURED_NS + round(ms * MS), "device": device, "uuid": uuid, "power_w": watts}
    return row | {"energy_mj": counter, "sm_clock_mhz": 1980, "temperature_c": 40}


def at_once(changes: Iterable[tuple[float, float]], low: float, high: float, **more: Any) -> list[dict[str, Any]]:
    """Return readings that catch each counter change within 1 ns; the first two have the extremes of power."""
    rows: list[dict[str, Any]] = []
    before = None
    for ms, joules in changes:
        if before is not None:
            rows.append(reading(ms - 1e-6, before, **more))
        rows.append(reading(ms, joules, **more))
        before = joules
    rows[0]["power_w"], rows[1]["power_w"] = low, high
    return rows


def put_log(library: Library, report_id: str, rows: Iterable[dict[str, Any]]) -> None:
    """Add a power log to a report, as the worker does."""
    columns = list(TABLES["power"])
    lines = (",".join("" if row.get(c) is None else str(row[c]) for c in columns) for row in rows)
    library.put_sidecar(report_id, "power", "\n".join([",".join(columns), *lines]) + "\n")


def report(
    publish: Publish, ranges: Sequence[Span] = (), work: Sequence[tuple[str, float, float]] = (),
    gpus: Sequence[str | None] = (None,), used: Sequence[int] = (0,), end_ms: float = 1000,
    captured: str | None = "2026-01-01",
) -> str:  # fmt: skip
    """Publish a report of ranges on the host and work (class or memcpy; ms) on the first used GPU.

    Each other used GPU runs a kernel of 1 ns at 0. ``gpus`` are the UUIDs of the GPUs.
    """

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        length = round(end_ms * MS)
        row = {"kind": "nsys", "captured_at": captured, "start_ns": 0, "stop_ns": length, "duration_ns": length}
        insert(db, "report", [row])
        insert(db, "gpu", [H100 | {"gpu_id": number, "uuid": uuid} for number, uuid in enumerate(gpus)])
        _work(db, [(kind, round(a * MS), round(b * MS)) for kind, a, b in work], used)
        _ranges(db, ranges)

    return publish(fill)


def _work(db: duckdb.DuckDBPyConnection, work: Sequence[tuple[str, int, int]], used: Sequence[int]) -> None:
    classes = sorted({kind for kind, _, _ in work} | {"other"})
    insert(db, "kernel_name", [name(number, kind, kind) for number, kind in enumerate(classes)])
    for number, (kind, start, end) in enumerate(work):
        times = {"start_ns": start, "end_ns": end, "device_id": used[0]}
        if kind == "memcpy":
            insert(db, "memop", [{"memop_id": number, "kind": kind, "operation": "[CUDA memcpy HtoD]"} | times])
        else:
            insert(db, "kernel", [kernel(number, classes.index(kind), start, end, device_id=used[0])])
    further = used[1:] if work else used
    for gpu in further:
        insert(db, "kernel", [kernel(1000 + gpu, classes.index("other"), 0, 1, device_id=gpu)])
        insert(db, "busy", [{"device_id": gpu, "start_ns": 0, "end_ns": 1}])
    reached = None
    for _, start, end in sorted(work, key=lambda one: one[1]):
        if reached is None or end > reached:
            begin = start if reached is None else max(start, reached)
            insert(db, "busy", [{"device_id": used[0], "start_ns": begin, "end_ns": end}])
            reached = end


def _ranges(db: duckdb.DuckDBPyConnection, ranges: Sequence[Span]) -> None:
    names = list(dict.fromkeys(title for title, _, _ in ranges))
    insert(db, "range_path", [{"path_id": n, "level": 0, "name": t, "path": t} for n, t in enumerate(names)])
    insert(db, "range_name", [{"name_id": n, "name": t, "text": t} for n, t in enumerate(names)])
    same = {"closed": True, "style": "PushPop", "global_tid": 1, "level": 0}
    rows = [
        {"range_id": n, "path_id": names.index(t), "name_id": names.index(t), "pre": n, "post": n}
        | {"start_ns": round(a * MS), "end_ns": round(b * MS)} | same
        for n, (t, a, b) in enumerate(ranges)
    ]  # fmt: skip
    insert(db, "range", rows)
