"""The context of an answer: report, units, the whole of each share, coverage, and a page to look at."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from profiledb.errors import WarpdeckError
from profiledb.library.catalog import LAUNCHES, TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header
from profiledb.query.header import Analysis, Column

_OPENING = {"summary": TIMELINE, "kernel_profiles": LAUNCHES}
"""Pages on which a report opens, with the subject that it must have."""
_ADDRESSED = ("range", "warmup", "mode", "device", "stream", "kernel", "launch")
_MOST_NOTES = 20


def describe_report(one: Manifest) -> dict[str, Any]:
    """Describe a report in short."""
    return {
        "id": one.id,
        "name": one.name,
        "title": one.title or None,
        "kind": one.kind,
        "gpu": one.gpu,
        "captured_at": one.captured_at,
        "duration_ns": one.duration_ns,
        "subjects": sorted(one.subjects),
    }


def describe_columns(listed: Sequence[Column]) -> list[dict[str, str]]:
    """Describe columns with unit and meaning, which also says what a share is of."""
    return [{"name": one.name, "title": one.title, "unit": one.unit, "meaning": one.help} for one in listed]


def build_page_address(one: Manifest, url: str = "", params: Mapping[str, Any] | None = None, **more: str) -> str:
    """Return the address of a page with a report and a selection, below the dashboard's; without a page, the first
    one.
    """
    if not url or (url in _OPENING and _OPENING[url] not in one.subjects):
        url = "summary" if TIMELINE in one.subjects else "kernel_profiles"
    query = {"report": one.id} | more
    query |= {name: value for name, value in (params or {}).items() if name in _ADDRESSED}
    times = {name: value for name, value in (params or {}).items() if name in ("from_ns", "to_ns")}
    query |= {name[:-3]: _format_milliseconds(value) for name, value in times.items() if value not in (None, "")}
    return f"/{url}?{urlencode(query, doseq=True)}"


def _format_milliseconds(ns: Any) -> str:
    """Format a time for the address of a page; any whole number that a selection accepts."""
    return f"{Decimal(int(ns)) / 1_000_000:f}"


def describe_coverage(library: Library, one: Manifest, params: Mapping[str, Any]) -> dict[str, Any]:
    """Describe how much of the report is selected, and the gaps that the capture reports itself."""
    covered: dict[str, Any] = {"notes": _read_notes(library, one)}
    if TIMELINE not in one.subjects:
        return covered
    asked = header.get("selection_summary").taken(params)
    try:
        rows = analysis.run(library, one.id, "selection_summary", asked)
    except WarpdeckError:
        return covered
    return covered | {str(name): int(value) for name, value in rows.iloc[0].dropna().items()}


def _read_notes(library: Library, one: Manifest) -> list[str]:
    rows = analysis.run(library, one.id, "diagnostics")
    return [str(text) for text in rows.loc[rows["severity"] != "info", "text"].head(_MOST_NOTES)]


def describe_analysis_context(
    library: Library, one: Manifest, asked: Analysis, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe the whole context of an analysis."""
    return {
        "report": describe_report(one),
        "analysis": asked.name,
        "title": asked.title,
        "about": asked.prose,
        "parameters": dict(params),
        "columns": describe_columns(asked.columns),
        "coverage": describe_coverage(library, one, params),
        "page": build_page_address(one, asked.page, params) if asked.page else None,
    }
