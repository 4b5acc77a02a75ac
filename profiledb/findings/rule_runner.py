"""Run rules on a selection of a report. The failure of one rule does not affect the others.

Answers are stored beside the report (profiledb.query.answer_bundle), so that each rule runs once per selection.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb.errors import NotCapturedError, NotLinkedError, WarpdeckError
from profiledb.findings.rule import Rule
from profiledb.findings.trace_overhead import Slowed, measure_slowdown
from profiledb.library.catalog import LAUNCHES, Manifest
from profiledb.library.library import BROKEN, Library
from profiledb.query import analysis as query
from profiledb.query import answer_bundle, answer_store, header, shared_rows, views
from profiledb.query.answer_bundle import Bundle
from profiledb.query.header import Analysis
from profiledb.query.request import Request
from profiledb.report.schema import read_sql
from profiledb.selection.model import Selection

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
"""The answer of a rule by column; empty if it returned no row."""
COMMAND = "command"
"""The column with the command that captures the data that a rule lacks."""
ERROR = "error"
"""The column with the database's error message if the query of a rule failed."""

SMALL_PART = 0.1
"""Part of the selected time below which GPUs work in a small part of it only."""
LITTLE_PART, LITTLE_NS, LEAST_NS = 0.01, 10_000_000, 1_000_000
"""Savings there are too small to matter below the first part of the selected time, up to the second length, and always
below the third."""
MOST_LOST_PCT = 50.0
"""Share of CUDA events from which a report that lacks them does not show when the GPU works. Of captures without such a
failure, nsys leaves out 25 % at most."""
_WINDOW = {
    True: "SELECT sum(duration_ns)::BIGINT AS ns, 0::BIGINT AS begin_ns FROM ncu_launch",
    False: "SELECT CASE WHEN has_rows('busy') THEN active_ns ELSE duration_ns END AS ns, start_ns AS begin_ns,"
    " recorded.*, busy_ns, covered_ns, gpus, lost_pct FROM capture_window CROSS JOIN recorded CROSS JOIN"
    " (SELECT sum(end_ns - start_ns)::BIGINT AS active_ns, count(DISTINCT device_id) AS gpus FROM selected_active)"
    " CROSS JOIN"
    " (SELECT sum(end_ns - start_ns)::BIGINT AS busy_ns FROM selected_busy WHERE device_id IS NOT NULL)"
    " CROSS JOIN (SELECT sum(end_ns - start_ns)::BIGINT AS covered_ns FROM selected_window) LEFT JOIN"
    " (SELECT 100.0 * (1 - max(TRY_CAST(regexp_extract(text, 'CUDA events collected:\\s*(\\d+)', 1) AS BIGINT))"
    " / max(TRY_CAST(regexp_extract(text, 'CUPTI events produced:\\s*(\\d+)', 1) AS BIGINT))) AS lost_pct"
    " FROM diagnostic HAVING bool_or(tells_lost_events(text))) ON true",
}
"""The time that savings are a share of and the start of the capture, in ns, for a Compute report and for a timeline. If
no GPU worked, that time is the capture. For a trace, also the columns that ``slowed`` needs. ``lost_pct`` is the share
of CUDA events that nsys recorded and failed to process."""


@dataclass(frozen=True)
class Part:
    """A part of the time from ``time_split``: its name, its kind, and its length in ns."""

    name: str
    kind: str
    ns: int


@dataclass(frozen=True)
class Window:
    """The time that savings are a share of, and the start of the capture on the report's clock, in ns.

    ``parts`` is that time, split; empty in a Compute report. ``slowed`` describes how much the profiler slows down the
    CPU, if it does. ``covered_ns`` is all of the selected time, for each GPU that works. ``lost_pct`` is the share of
    CUDA events that the report lacks, if that is much of them.
    """

    ns: int | None
    begin_ns: int
    parts: tuple[Part, ...] = ()
    slowed: Slowed | None = None
    covered_ns: int | None = None
    lost_pct: float | None = None

    def is_little(self, saving_ns: int | None) -> bool:
        """Return True if GPUs work in a small part of the selected time only, and a saving is too small to matter."""
        if not self.ns or not self.covered_ns or saving_ns is None or self.ns >= SMALL_PART * self.covered_ns:
            return False
        return saving_ns < LEAST_NS or (saving_ns < LITTLE_NS and saving_ns < LITTLE_PART * self.covered_ns)


def answer_rules(
    library: Library, report: Manifest, selection: Selection, rules: Iterable[Rule]
) -> tuple[Window, dict[str, Row]]:
    """Return the time that the rules look at, and the answer of each rule by name.

    Raises:
        AnalysisError: the selection does not exist in this report.
        ReportNotFoundError: the report was deleted.
    """
    compute = LAUNCHES in report.subjects
    partner = None if compute else library.linked_report(report.id)
    analyses = [
        _make_window_analysis(compute),
        *(_choose_analysis(rule) for rule in rules),
    ]
    asked = {one.name: Request(report.id, one, header.bind(one, {}), selection, partner) for one in analyses}
    bundle = answer_bundle.read(library, asked["window"])
    rows = {name: _read_first_row(table) for name, one in asked.items() if (table := bundle.get(one)) is not None}
    missing = [one for name, one in asked.items() if name not in rows]
    try:
        rows |= _answer_rules(library, bundle, missing, compute=compute)
    except BROKEN:  # the library has reconnected
        rows |= _answer_rules(library, bundle, missing, compute=compute)
    bundle.write()
    window = rows.pop("window")
    ns, begin_ns = window.get("ns"), int(window.get("begin_ns") or 0)
    parts = () if compute else _read_parts(library, report, selection)
    slower = measure_slowdown(library, report, window)
    covered_ns = int(window.get("covered_ns") or 0) * int(window.get("gpus") or 0)
    lost_pct = float(window.get("lost_pct") or 0)
    lacks = lost_pct if lost_pct >= MOST_LOST_PCT else None
    return Window(None if ns is None else int(ns), begin_ns, parts, slower, covered_ns or None, lacks), rows


@cache
def _make_window_analysis(compute: bool) -> Analysis:
    return Analysis(
        "window",
        "",
        "",
        (),
        (),
        (),
        _WINDOW[compute],
        includes=("selection", "recorded"),
        selects=("part",),
        once=("busy",),
    )


def _read_parts(library: Library, report: Manifest, selection: Selection) -> tuple[Part, ...]:
    """Return the parts of the time; none of a report without work of a GPU."""
    split = header.get("time_split")
    asked = Request(report.id, split, header.bind(split, {}), selection, None)
    try:
        rows = answer_store.answer_rows(library, asked).select(["part", "kind", "ns"]).to_pylist()
    except (WarpdeckError, duckdb.Error):
        return ()
    return tuple(Part(row["part"], row["kind"], row["ns"]) for row in rows)


@cache
def _choose_analysis(rule: Rule) -> Analysis:
    """Return the analysis of a rule without a threshold that only the judge compares."""
    used = tuple(one for one in rule.analysis.params if one.name != "threshold" or "$threshold" in rule.analysis.sql)
    return replace(rule.analysis, params=used)


def _answer_rules(library: Library, bundle: Bundle, asked: list[Request], *, compute: bool) -> dict[str, Row]:
    if not asked:
        return {}
    first = asked[0]
    includes = {name: None for one in asked for name in ("selection", "ranges", *one.analysis.includes)}
    selection = Selection() if compute else first.selection
    others: dict[str, Any] = {"partner": first.partner, "alone": not compute and not first.partner}
    with shared_rows.opened(library, first.report_id, selection, includes, **others) as part:
        part.select()
        if first.partner and any(one.name == "profile" for one in views.list_needed(includes)):
            part.run("joined", read_sql("joined.sql", "profiledb.rules.findings"))
        return {one.analysis.name: _answer_rule(bundle, part, one) for one in asked}


def _answer_rule(bundle: Bundle, part: shared_rows.Part, asked: Request) -> Row:
    """Run a rule and keep its answer in the bundle, or the data that the report lacks. A failed query is not."""
    analysis = asked.analysis
    try:
        part.check(analysis)
        part.prepare(analysis)
        rows = query.query_first(part.cursor, analysis, asked.values).slice(0, 1)
    except NotCapturedError as error:
        rows = _make_lack_table(error.message, error.command)
    except NotLinkedError as error:
        rows = _make_lack_table(error.message, _find_command(error))
    except BROKEN:
        raise
    except duckdb.Error as error:
        return {"unjudged": "The query of this rule failed.", ERROR: str(error)[:2000]}
    bundle.put(asked, rows)
    return _read_first_row(rows)


def _make_lack_table(message: str, command: str) -> "pa.Table":
    """Return the answer of a rule whose data the report lacks, as a table, so that it is stored like any other."""
    import pyarrow as pa

    return pa.table({"unjudged": [message], COMMAND: [command]})


def _read_first_row(table: "pa.Table") -> Row:
    rows: list[dict[str, Any]] = table.slice(0, 1).to_pylist()
    return rows[0] if rows else {}


def _find_command(error: WarpdeckError) -> str:
    return error.hint.rpartition("or: ")[2] if "warpdeck link" in error.hint else ""
