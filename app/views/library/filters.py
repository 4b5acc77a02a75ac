"""Search and filters of the Library; the URL keeps them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import streamlit as st

from app.ui import format as fmt
from app.ui import judged_findings, page_elements, url_widgets
from app.views.library.table import OLDER
from profiledb.findings.digest import Found
from profiledb.library.catalog import Manifest

Known = Mapping[str, Sequence[Found]]
"""The findings of each judged report, by report id."""


@dataclass(frozen=True)
class Filters:
    """The active filters of the report list; an empty field does not filter."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None


def choose(reports: Sequence[Manifest], labels: Mapping[str, Sequence[str]], known: Known) -> Filters:
    """Draw the filters and return the reader's choice."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="library-filters"):
        text = st.text_input(
            "Search", placeholder="Search name, GPU, command, label", label_visibility="collapsed", width=262,
            **url_widgets.text("q"),
        )  # fmt: skip
        kinds = _choose_any(
            "Kind", "kind", _sort_values(page_elements.kind_of(r) for r in reports), page_elements.kind_title
        )
        gpus = _choose_any("GPU", "gpu", _sort_values(r.gpu for r in reports), fmt.visible)
        chosen = _choose_any(
            "Label", "label", _sort_values(name for names in labels.values() for name in names), fmt.visible
        )
        fired = {one.rule for every in known.values() for one in every}
        titles = {name: rule.title for name, rule in judged_findings.rules().items() if name in fired}
        named = sorted(titles, key=lambda name: titles[name].casefold())
        rules = _choose_any("Finding", "finding", named, titles.__getitem__) if named else []
        days = st.date_input(
            "Captured", value=[], label_visibility="collapsed", width=222, **url_widgets.days("captured")
        )
    since, until = _read_span(days)
    return Filters(text, tuple(kinds), tuple(gpus), tuple(chosen), tuple(rules), since, until)


def _choose_any(title: str, key: str, options: Sequence[str], shown: Callable[[str], str]) -> list[str]:
    return st.multiselect(
        title, options, format_func=shown, placeholder=title, label_visibility="collapsed", width=142,
        **url_widgets.options(key, options),
    )  # fmt: skip


def matching(
    reports: Iterable[Manifest], labels: Mapping[str, Sequence[str]], filters: Filters, known: Known
) -> list[Manifest]:
    """Return the reports that pass all filters, in their original order.

    A report must have all chosen findings, so reports that have not been judged pass only if no finding is chosen.
    Each search word must occur in the names, id, GPU, command or labels, ignoring case.
    """
    words = filters.text.casefold().split()
    fired = {report_id: {one.rule for one in every} for report_id, every in known.items()}
    return [
        r
        for r in reports
        if set(filters.rules) <= fired.get(r.id, set())
        and _fits_filters(r, labels.get(r.id, ()), filters)
        and _has_words(r, labels.get(r.id, ()), words)
    ]


def _fits_filters(report: Manifest, labels: Sequence[str], filters: Filters) -> bool:
    if filters.kinds and page_elements.kind_of(report) not in filters.kinds:
        return False
    if filters.gpus and report.gpu not in filters.gpus:
        return False
    if filters.labels and not set(filters.labels) <= set(labels):
        return False
    if filters.since is None and filters.until is None:
        return True
    day = _parse_day(report.captured_at)
    return day is not None and (filters.since or day) <= day <= (filters.until or day)


def _has_words(report: Manifest, labels: Sequence[str], words: Sequence[str]) -> bool:
    own = [OLDER] * report.is_older
    text = "\n".join(
        (report.shown_name, report.name, report.id, report.gpu or "", report.command or "", *own, *labels)
    ).casefold()
    return all(word in text for word in words)


def _parse_day(iso: str | None) -> date | None:
    try:
        return datetime.fromisoformat(iso or "").date()
    except ValueError:
        return None


def _read_span(days: object) -> tuple[date | None, date | None]:
    """Return the first and last day of a date input; a half-entered range has only the first."""
    ends = [day for day in days if isinstance(day, date)] if isinstance(days, Sequence) else []
    return (ends[0] if ends else None), (ends[1] if len(ends) > 1 else None)


def _sort_values(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value}, key=str.casefold)
