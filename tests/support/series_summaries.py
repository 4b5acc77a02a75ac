"""Series of reports that exist only as summaries, without report files."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.summary_store import Facts, Row
from profiledb.studies.trends.team_summary_store import open_summaries

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def facts(number: int, **changed: object) -> Facts:
    """Return the facts of a training report, captured on the day of its number."""
    report_id = f"{number:016x}"
    at = (BEGIN + timedelta(days=number)).isoformat()
    meta = {"workload": "train", "commit": f"{number:040x}", "commit_date": at}
    values: dict[str, object] = {
        "report_id": report_id, "name": f"train_{number}.nsys-rep", "kind": "nsys", "gpu": "NVIDIA H200", "gpus": 1,
        "command": "python train.py", "captured_at": at, "driver": "580.1", "tool": "Nsight Systems 2026.1",
        "machine": "Xeon, Ubuntu", "capture": "kernels, NVTX ranges", "basis": "step_*", "meta": meta,
    }  # fmt: skip
    return Facts(**(values | changed))  # type: ignore[arg-type]


def rows(wall: float, kernels: Mapping[str, float], idle: float | None = None) -> list[Row]:
    """Return the figures per step on one GPU: each kernel in its own class, and idle time up to the step time."""
    busy = sum(kernels.values())
    found = [
        Row("wall_ns", wall, low=0.95 * wall, high=1.1 * wall),
        Row("kernel_ns", busy),
        Row("idle_ns", wall - busy if idle is None else idle),
        Row("launches", float(len(kernels))),
    ]
    for name, ns in kernels.items():
        found += [Row("kernel", ns, f"void {name}<float>(args)", title=name), Row("class", ns, f"class of {name}")]
    return [*found, Row("range", busy, "step_*/forward")]


def all_series(board: Board) -> dict[str, Series]:
    """Return the series of a board by name."""
    return {name: board.find(name) for name in board.names}


def put(library: Library, of: Facts, figures: Sequence[Row], ranks: Sequence[RankSummary] = ()) -> Manifest:
    """List a report that has only a summary."""
    manifest = Manifest(
        of.report_id, SCHEMA_VERSION, of.name, of.kind, of.report_id, 1, captured_at=of.captured_at,
        ingested_at=of.captured_at, gpu=of.gpu, command=of.command, rows={"kernel": 1},
    )  # fmt: skip
    library.catalog.add_report(manifest)
    open_summaries(library).put(of, summary_refresh.make_stamp(library, of.report_id), figures, ranks)
    return manifest
