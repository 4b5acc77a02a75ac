"""All series, and the changes of their listed measures, brought up to date by what is new.

A new report costs the series that it joins: only their figures are read and only their changes looked for. What people
decide is read anew each time, and so are the ids of the listed reports, because deletions and spaces hide some.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from profiledb.library.library import Library
from profiledb.library.series_decisions import Note
from profiledb.rules.series import Rules
from profiledb.studies.trends import series, series_changes
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_changes import Notes, Trend
from profiledb.studies.trends.summary_store import Facts, Row, Since, Summaries

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Grouping:
    """The series of a library at one moment, as one visitor sees them; nobody changes its mappings.

    Args:
        since: place in the log of changed summaries.
        rules: rules by which reports form series.
        ids: ids of the listed reports.
        facts: facts of those that have a summary.
        labels: labels that the rules may read.
        choices: series that people chose.
        series: all series by name.
        names: name of the series of each report.
        dirty: reports that are new, changed or gone since the grouping before; None without one.
        touched: names of the series that these are in or were in.
    """

    since: Since
    rules: Rules
    ids: frozenset[str]
    facts: Mapping[str, Facts]
    labels: Mapping[str, Sequence[str]]
    choices: Mapping[str, str]
    series: Mapping[str, Series]
    names: Mapping[str, str]
    dirty: Collection[str] | None
    touched: Collection[str]


@dataclass(frozen=True)
class Changes:
    """The listed measures over all series.

    Args:
        notes: notes of people about changes.
        values: figures of whole reports, by measure and report.
        trends: by name of the series and measure.
    """

    notes: Notes
    values: Mapping[str, Mapping[str, Row]]
    trends: Mapping[tuple[str, str], Trend]


def group(library: Library, store: Summaries, rules: Rules, before: Grouping | None) -> Grouping:
    """Return the present series, from the last ones of the same visitor if there are any."""
    since, changed = store.read_changes(before.since if before else None)
    catalog = library.catalog
    ids, choices = catalog.report_ids(), catalog.decisions.choices()
    listed, labels = frozenset(ids), catalog.listing.labels_with_values()
    if before is None or changed is None or before.rules != rules:
        kept = store.facts()
        facts = {report_id: kept[report_id] for report_id in ids if report_id in kept}
        built = series.build_series(facts, rules, labels, choices)
        names = {point.id: name for name, one in built.items() for point in one.points}
        return Grouping(since, rules, listed, facts, labels, choices, built, names, None, built.keys())
    dirty = set((changed & (listed | before.ids)) | (listed ^ before.ids))
    dirty |= _find_differences(before.labels, labels) | _find_differences(before.choices, choices)
    facts = {key: one for key, one in before.facts.items() if key not in dirty}
    facts |= store.facts(sorted(dirty & listed))
    fresh = series.build_series({key: facts[key] for key in dirty if key in facts}, rules, labels, choices)
    touched = {before.names[key] for key in dirty if key in before.names} | fresh.keys()
    names = {key: name for key, name in before.names.items() if key not in dirty}
    names |= {point.id: name for name, one in fresh.items() for point in one.points}
    built = _join_series(before.series, fresh, touched, dirty)
    return Grouping(since, rules, listed, facts, labels, choices, built, names, dirty, touched)


def look_for_changes(
    store: Summaries, grouped: Grouping, notes: Mapping[tuple[str, str], Note], measures: Sequence[str],
    before: Changes | None,
) -> Changes:  # fmt: skip
    """Return the changes of all series, looked for only in those that differ from the grouping of ``before``."""
    touched: Collection[str] = grouped.touched
    if before is None or grouped.dirty is None:
        values = {measure: dict(store.values(measure)) for measure in measures}
        trends: dict[tuple[str, str], Trend] = {}
    else:
        values = {measure: _renew_values(store, measure, before.values[measure], grouped.dirty) for measure in measures}
        noted = _find_differences(before.notes, notes)
        touched = {*touched, *(grouped.names[report_id] for report_id, _ in noted if report_id in grouped.names)}
        trends = {key: trend for key, trend in before.trends.items() if key[0] not in touched}
    some = [grouped.series[name] for name in sorted(touched) if name in grouped.series]
    for measure in measures:
        for trend in series_changes.find_trends(store, some, measure, values[measure], notes):
            trends[trend.series.name, measure] = trend
    return Changes(notes, values, trends)


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


def _renew_values(store: Summaries, measure: str, before: Mapping[str, Row], dirty: Collection[str]) -> dict[str, Row]:
    """Return the figures of a measure, read anew for some reports."""
    rows = {key: row for key, row in before.items() if key not in dirty}
    read = store.of(sorted(dirty), measure)
    return rows | {report_id: row for report_id, every in read.items() for row in every if not row.name}


def _find_differences(before: Mapping[Key, object], now: Mapping[Key, object]) -> set[Key]:
    """Return the keys with another value."""
    return {key for key in {*before, *now} if before.get(key) != now.get(key)}
