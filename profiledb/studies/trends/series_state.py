"""All series with the changes of their listed measures, brought up to date by what is new.

A new report costs the series that it joins: only their figures are read and only their changes looked for. What people
decide is read anew each time, and so are the ids of the listed reports, because deletions and spaces hide some.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from profiledb.library.library import Library
from profiledb.library.series_decisions import Note
from profiledb.rules.series import Rules
from profiledb.studies.trends import series, series_changes
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.summary_store import Facts, Row, Since, Summaries

Labels = Mapping[str, Sequence[str]]
Values = Mapping[str, Mapping[str, Row]]
"""Figures of whole reports, by measure and report."""


@dataclass(frozen=True)
class State:
    """The series of a library at one moment, as one visitor sees them; nobody changes its mappings.

    Args:
        since: place in the log of changed summaries.
        rules: rules by which reports form series.
        facts: facts of the listed reports that have a summary.
        labels: labels that the rules may read.
        choices: series that people chose.
        notes: notes of people about changes.
        series: all series by name.
        names: name of the series of each report.
        values: figures of the listed measures.
        trends: listed measures over each series, by name of the series and measure.
    """

    since: Since
    rules: Rules
    facts: Mapping[str, Facts]
    labels: Labels
    choices: Mapping[str, str]
    notes: Mapping[tuple[str, str], Note]
    series: Mapping[str, Series]
    names: Mapping[str, str]
    values: Values
    trends: Mapping[tuple[str, str], Trend]


def read(library: Library, store: Summaries, rules: Rules, measures: Sequence[str], before: State | None) -> State:
    """Return the present state, from the last one of the same visitor and measures if there is one."""
    since, changed = store.read_changes(before.since if before else None)
    catalog = library.catalog
    ids = catalog.report_ids()
    labels, choices, notes = (
        catalog.listing.labels_with_values(),
        catalog.decisions.choices(),
        catalog.decisions.notes(),
    )
    if before is None or changed is None or before.rules != rules:
        kept = store.facts()
        facts = {report_id: kept[report_id] for report_id in ids if report_id in kept}
        built = series.build_series(facts, rules, labels, choices)
        values: Values = {measure: store.values(measure) for measure in measures}
        names = {point.id: name for name, one in built.items() for point in one.points}
        touched: Collection[str] = built.keys()
        trends: dict[tuple[str, str], Trend] = {}
    else:
        listed = set(ids)
        known = before.facts.keys()
        dirty = (changed & (listed | known)) | (known - listed) | (listed - known)
        dirty |= _find_differences(before.labels, labels) | _find_differences(before.choices, choices)
        facts = {key: one for key, one in before.facts.items() if key not in dirty}
        facts |= store.facts(sorted(dirty & listed))
        own = {key: facts[key] for key in dirty if key in facts}
        fresh = series.build_series(own, rules, labels, choices)
        names = {key: name for key, name in before.names.items() if key not in dirty}
        touched = {before.names[key] for key in dirty if key in before.names} | fresh.keys()
        built = _join_series(before.series, fresh, touched, dirty)
        names |= {point.id: name for name, one in fresh.items() for point in one.points}
        values = {measure: _renew(store, measure, before.values[measure], dirty) for measure in measures}
        about = _find_differences(before.notes, notes)
        touched |= {names[report_id] for report_id, _ in about if report_id in names}
        trends = {key: trend for key, trend in before.trends.items() if key[0] not in touched}
    for measure in measures:
        some = [built[name] for name in sorted(touched) if name in built]
        for trend in series_changes.find_trends(store, some, measure, values[measure], notes):
            trends[trend.series.name, measure] = trend
    return State(since, rules, facts, labels, choices, notes, built, names, values, trends)


def _join_series(
    before: Mapping[str, Series], fresh: Mapping[str, Series], touched: Iterable[str], dirty: Collection[str]
) -> dict[str, Series]:
    """Return all series: those that nothing touched as they were, the others without changed reports and with new."""
    built = dict(before)
    for name in touched:
        kept = [point for point in before[name].points if point.id not in dirty] if name in before else []
        points = sorted([*kept, *(fresh[name].points if name in fresh else ())], key=series.sort_key)
        built.pop(name, None)
        if points:
            built[name] = Series(name, tuple(points))
    return dict(sorted(built.items()))


def _renew(store: Summaries, measure: str, before: Mapping[str, Row], dirty: Collection[str]) -> dict[str, Row]:
    """Return the figures of a measure, read anew for some reports."""
    rows = {key: row for key, row in before.items() if key not in dirty}
    for report_id, every in store.of(sorted(dirty), measure).items():
        rows |= {report_id: row for row in every if not row.name}
    return rows


def _find_differences[Key](before: Mapping[Key, object], now: Mapping[Key, object]) -> set[Key]:
    """Return the keys with another value."""
    return {key for key in {*before, *now} if before.get(key) != now.get(key)}
