"""The critical path as a table: the share of each kernel and call, range or operator, and the slack of the rest."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.replay import critical_path
from profiledb.replay.attribution import sum_by_range
from profiledb.replay.critical_path import Segment
from profiledb.replay.prediction import Case, open_case
from profiledb.replay.slack import Slack

GROUPINGS = ("kernel", "range", "operator")
"""What the rows are: kernels, calls and what the host does; NVTX ranges; operators of a framework."""
COLUMNS = {
    "kind": ("", "kernel class, copies, CUDA calls, host code ...; range; operator"),
    "name": ("", "name of the kernel, call, range or operator; empty if there is none"),
    "path_ns": ("ns", "time on the critical path; the rows add up to it"),
    "share_pct": ("%", "the same as a share of the time of the steps"),
    "count": ("", "how many there are, on the path or not"),
    "ns": ("ns", "how long all of them take together"),
    "critical": ("", "how many have no slack"),
    "least_ns": ("ns", "least slack: how late one may be before the steps take longer"),
    "median_ns": ("ns", "median of their slacks"),
}
"""Unit and meaning of the columns."""
_KINDS = {"copy": "copies", "memset": "memory sets", "graph": "CUDA graphs", "call": critical_path.CALLS}
"""Kinds of slack as those of the path."""


@dataclass(frozen=True)
class PathRow:
    """A row of the table (``COLUMNS``); None where nothing of this name has slack in the steps."""

    kind: str
    name: str
    path_ns: int
    share_pct: float
    count: int | None = None
    ns: int | None = None
    critical: int | None = None
    least_ns: int | None = None
    median_ns: int | None = None


@dataclass(frozen=True)
class PathTable:
    """The critical path of the replayed steps, or of one of them. Times are ns on the clock of the capture.

    ``steps`` are the numbers of all replayed steps, ``error_pct`` the share of their time that nothing explains.
    """

    by: str
    step: int | None
    begin_ns: int
    end_ns: int
    steps: tuple[int, ...]
    ranks: int
    error_pct: float
    rows: list[PathRow]


def read_path(
    library: Library, report_id: str, by: str = "kernel", step: int | None = None, peers: Sequence[str] = ()
) -> PathTable:
    """Replay a report and return its critical path, the longest first.

    Args:
        library: holds the report.
        report_id: the report.
        by: one of ``GROUPINGS``.
        step: the number of a replayed step; None for all.
        peers: reports of the other ranks of its run.

    Raises:
        AnalysisError: the grouping is unknown, or the step is not replayed.
        NotCapturedError: the report cannot be replayed.
    """
    if by not in GROUPINGS:
        raise AnalysisError(f"The critical path is listed by {', '.join(GROUPINGS[:-1])} or {GROUPINGS[-1]}.")
    case = open_case(library, report_id, peers)
    begin, end = case.find_span(step)
    segments = critical_path.cut(case.path(), begin, end)
    took, slacks = _sum_path(case, segments, by), _list_slack(case, by, step)
    rows = [_make_row(key, took[key], end - begin, slacks.get(key)) for key in took.keys() | slacks.keys()]
    rows.sort(key=lambda row: (-row.path_ns, -(row.ns or 0), row.kind, row.name))
    return PathTable(by, step, begin, end, tuple(case.window.steps), case.ranks, case.error_pct, rows)


def _sum_path(case: Case, segments: Sequence[Segment], by: str) -> Counter[tuple[str, str]]:
    if by == "kernel":
        return Counter({(piece.kind, piece.name): piece.ns for piece in critical_path.sum_pieces(segments)})
    ranges = {name: spans for name, spans in case.part.ranges.items() if _get_grouping(case, name) == by}
    took = sum_by_range(segments, case.graph.recording, ranges, case.part.drivers)
    return Counter({(by, name): ns for name, ns in took.items()})


def _get_grouping(case: Case, name: str) -> str:
    return "operator" if name in case.part.operators else "range"


def _list_slack(case: Case, by: str, step: int | None) -> dict[tuple[str, str], Slack]:
    classes = {kernel.name: kernel.class_ for kernel in case.graph.recording.operations.kernels}
    slack_by_name = {}
    for one in case.slack(step):
        if one.kind == "range":
            grouping = kind = _get_grouping(case, one.name)
        else:
            grouping, kind = "kernel", classes[one.name] if one.kind == "kernel" else _KINDS[one.kind]
        if grouping == by:
            slack_by_name[kind, one.name] = one
    return slack_by_name


def _make_row(key: tuple[str, str], path_ns: int, whole_ns: int, one: Slack | None) -> PathRow:
    share = 100 * path_ns / whole_ns if whole_ns else 0.0
    if one is None:
        return PathRow(*key, path_ns, share)
    return PathRow(*key, path_ns, share, one.count, one.ns, one.critical, one.least_ns, one.median_ns)


def record(report: Manifest, table: PathTable) -> dict[str, Any]:
    """Return the table as plain data, with units."""
    return {
        "report": report.name, "by": table.by, "step": table.step, "from_ns": table.begin_ns, "to_ns": table.end_ns,
        "steps": list(table.steps), "ranks": table.ranks, "error_pct": table.error_pct,
        "columns": [{"name": name, "unit": unit, "meaning": meaning} for name, (unit, meaning) in COLUMNS.items()],
        "rows": [asdict(row) for row in table.rows],
    }  # fmt: skip


def format_markdown(report: Manifest, table: PathTable) -> str:
    """Return the table as a document."""
    if table.step is not None:
        part = f"Step {table.step} takes"
    else:
        part = f"{words.counted(len(table.steps), 'step')} take" if table.steps else "The program takes"
    lines = [
        f"# Critical path: {words.plain(report.name)}",
        "",
        (
            f"{part} {words.duration(table.end_ns - table.begin_ns)}. Waits that nothing explains make up"
            f" {words.percent(table.error_pct)} of what is replayed. Slack is how late one may be before the steps take"
            " longer."
        ),
        "",
        "| Part | Name | On the path | Share | Number | Time | Critical | Least slack | Median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_format_row(row) for row in table.rows]
    return "\n".join(lines) + "\n"


def _format_row(row: PathRow) -> str:
    cells = [
        row.kind, words.code(row.name, cell=True) if row.name else "", words.duration(row.path_ns),
        words.percent(row.share_pct), "" if row.count is None else words.count(row.count),
        "" if row.ns is None else words.duration(row.ns), "" if row.critical is None else words.count(row.critical),
        "" if row.least_ns is None else words.duration(row.least_ns),
        "" if row.median_ns is None else words.duration(row.median_ns),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"
