"""Runs rules on a selection of a report. What one rule cannot answer is its own matter; the others are judged."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import duckdb

from profiledb.errors import NotCapturedError, NotLinkedError, WarpdeckError
from profiledb.findings.rule import EVIDENCE, OWN, Rule
from profiledb.query import header, needs, together, views
from profiledb.report.catalog import LAUNCHES, Manifest
from profiledb.report.library import BROKEN, Library
from profiledb.report.schema import read_sql
from profiledb.rules import phases
from profiledb.selection import apply, model
from profiledb.selection.model import Selection

Verdict = Literal["fires", "clear", "cannot_judge"]
SEVERITIES = ("high", "medium", "low", "warning", "note")
"""From the worst on: by the share of the time that mending saves at most, then what costs nothing by itself."""
HIGH_PCT, MEDIUM_PCT = 10.0, 2.0
MOST_EVIDENCE = 20


@dataclass(frozen=True)
class Finding:
    """What a rule says of a selection.

    ``value`` and ``threshold`` are in the unit of the rule; ``saving_ns`` is an upper bound, ``saving_pct`` its share
    of the time from the first to the last operation, over all GPUs. Savings overlap: nobody adds them up.
    ``why`` and ``command`` say what is missing where it cannot be judged, and what captures it.
    """

    rule: Rule
    verdict: Verdict
    value: float | None = None
    threshold: float | None = None
    saving_ns: int | None = None
    saving_pct: float | None = None
    cause: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Mapping[str, Any], ...] = ()
    why: str = ""
    command: str = ""

    @property
    def severity(self) -> str:
        """One of SEVERITIES where it fires, else nothing."""
        if self.verdict != "fires":
            return ""
        if self.rule.weight:
            return self.rule.weight
        share = self.saving_pct or 0.0
        return "high" if share >= HIGH_PCT else "medium" if share >= MEDIUM_PCT else "low"


def judge(library: Library, report: Manifest, params: Mapping[str, Any], rules: Iterable[Rule]) -> list[Finding]:
    """What the rules say of the part of a report that ``params`` select, see ``order`` for theirs.

    Rules about what the report is not about (idle time in a Compute report) are left out.

    Raises:
        AnalysisError: the selection is none of this report.
        ReportNotFoundError: the report is gone.
    """
    asked = [rule for rule in rules if rule.subjects.intersection(report.subjects)]
    selection = model.parse(params)
    try:
        found = _judge(library, report, selection, asked)
    except BROKEN:  # the library has connected anew
        found = _judge(library, report, selection, asked)
    return sorted(found, key=order)


def order(finding: Finding) -> tuple[int, int, float, str]:
    """What fires comes first, the costliest before others and remarks last; then what cannot be judged."""
    verdicts: tuple[Verdict, ...] = ("fires", "cannot_judge", "clear")
    remark = ("", "warning", "note").index(finding.rule.weight)
    return verdicts.index(finding.verdict), remark, -(finding.saving_ns or 0), finding.rule.name


def _judge(library: Library, report: Manifest, selection: Selection, rules: list[Rule]) -> list[Finding]:
    compute = LAUNCHES in report.subjects
    partner = None if compute else library.linked(report.id)
    includes = {name: None for rule in rules for name in ("selection", "ranges", *rule.analysis.includes)}
    built_on = views.needed(includes)
    with library.cursor(report.id, partner, built_on) as cursor:
        if not compute:
            apply.apply(cursor, selection)
        if partner and any(one.name == "profile" for one in built_on):
            cursor.execute(read_sql("joined.sql", "profiledb.rules.findings"))
        if any(rule.analysis.by_phases for rule in rules):
            phases.apply(cursor)
        bench = _Bench(cursor, _window(cursor, report), alone=not compute and partner is None)
        return [bench.judge(rule) for rule in rules]


def _window(cursor: duckdb.DuckDBPyConnection, report: Manifest) -> int | None:
    """The time of which savings are a share, ns."""
    active = "SELECT sum(end_ns - start_ns)::BIGINT FROM selected_active"
    sql = "SELECT sum(duration_ns)::BIGINT FROM ncu_launch" if LAUNCHES in report.subjects else active
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row and row[0] else None


class _Bench:
    """A cursor on which rules run one after the other, and what some of them build on."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, window_ns: int | None, *, alone: bool) -> None:
        self._cursor = cursor
        self._window_ns = window_ns
        self._alone = alone
        self._made: set[str] = set()

    def judge(self, rule: Rule) -> Finding:
        """What one rule says."""
        try:
            needs.check(self._cursor, rule.analysis, alone=self._alone)
            row = self._row(rule)
        except NotCapturedError as error:
            return Finding(rule, "cannot_judge", why=error.message, command=error.command)
        except NotLinkedError as error:
            return Finding(rule, "cannot_judge", why=error.message, command=_command(error))
        except BROKEN:
            raise
        except duckdb.Error as error:
            return Finding(
                rule, "cannot_judge", why="The query of this rule failed.", facts={"error": str(error)[:2000]}
            )
        return self._finding(rule, row)

    def _row(self, rule: Rule) -> dict[str, Any]:
        """The first row that a rule answers, by column; nothing where it has none."""
        for name in rule.once:
            if name not in self._made:
                self._cursor.execute(together.scripts()[name])
                self._made.add(name)
        values = header.bind(rule.analysis, {})
        if "$threshold" not in rule.analysis.sql:
            values.pop("threshold")
        asked = self._cursor.execute(rule.analysis.sql, values) if values else self._cursor.execute(rule.analysis.sql)
        names = [column[0] for column in asked.description or ()]
        row = asked.fetchone()
        return dict(zip(names, row, strict=True)) if row else {}

    def _finding(self, rule: Rule, row: Mapping[str, Any]) -> Finding:
        threshold = float(header.bind(rule.analysis, {})["threshold"])
        value = _number(row.get("value"))
        facts = {name: item for name, item in row.items() if name not in OWN}
        if value is None:
            why = row.get("unjudged") or "The selection has nothing that this rule could judge."
            return Finding(rule, "cannot_judge", threshold=threshold, facts=facts, why=str(why))
        saving = row.get("saving_ns")
        saved = None if saving is None else max(0, int(saving))
        share = 100.0 * saved / self._window_ns if saved is not None and self._window_ns else None
        fires = value >= threshold if rule.fires == "above" else value <= threshold
        return Finding(
            rule, "fires" if fires else "clear", value, threshold, saved, share, row.get("cause"), facts,
            tuple(_piece(one) for one in (row.get("evidence") or [])[:MOST_EVIDENCE]),
        )  # fmt: skip


def _piece(one: Mapping[str, Any]) -> dict[str, Any]:
    """A piece of evidence without the fields that it does not fill."""
    return {name: one[name] for name in EVIDENCE if one.get(name) is not None}


def _number(value: Any) -> float | None:
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value)


def _command(error: WarpdeckError) -> str:
    return error.hint.rpartition("or: ")[2] if "warpdeck link" in error.hint else ""
