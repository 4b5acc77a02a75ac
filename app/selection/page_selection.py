"""The selection: the part of a report that the pages show, read from the URL and checked against the report.

The URL contains what differs from the default, so that a link reproduces what its sender saw: ``range`` (repeated),
``first``, ``warmup``, ``mode``, ``device``, ``stream``, and ``from`` and ``to`` in milliseconds. Streamlit drops these
when a reader changes pages in the menu; ``restore`` adds them back. On a page that compares two reports, the other
report has its own selection under the same names prefixed with ``other_``; it inherits the rest from the page's report.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import url_parameters
from app.selection.url_parameters import has_range, list_changed, parse
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.selection import model
from profiledb.selection.model import Selection

KEYS = ("range", "first", "warmup", "mode", "device", "stream", "from", "to")
"""The URL parameters."""
OTHER = "other_"
"""Prefix of the URL parameters of the report to compare with."""

milliseconds, split = url_parameters.format_milliseconds, url_parameters.split

_LAST = "last_selection"
_OTHER_REPORT = "selection-other-report"


@dataclass(frozen=True)
class Settled:
    """A selection that is valid for its report.

    Args:
        report_id: the report.
        chosen: the selection that the pages show.
        default: the selection without URL parameters.
        problems: requests in the URL that the report cannot satisfy (Markdown, escaped).
        paths: possible ranges (analysis ``range_paths``); empty without ranges.
        places: GPUs and streams (analysis ``devices``); empty without GPU activity.
        prefix: prefix of its URL parameters.
    """

    report_id: str
    chosen: Selection
    default: Selection
    problems: tuple[str, ...]
    paths: pd.DataFrame
    places: pd.DataFrame
    prefix: str = ""

    @property
    def partly(self) -> bool:
        """Return whether the reader, or the link, changed the default."""
        return self.chosen != self.default

    @property
    def params(self) -> dict[str, Any]:
        """Return the selection as parameters of analyses."""
        return dict(model.to_params(self.chosen))

    @property
    def key(self) -> str:
        """Return the prefix of its widget keys."""
        return f"{self.prefix.replace('_', '-')}selection-"


def restore(manifest: Manifest) -> None:
    """Write the session's last selection of a report into a URL that has neither a report nor a selection."""
    last, asked = st.session_state.get(_LAST, ("", {}))
    if last == manifest.id and not any(key in st.query_params for key in (session.PARAMETER, *KEYS)):
        st.query_params.update(asked)


def note_report_change() -> None:
    """Note that the reader is changing reports: selections that the next one lacks then leave the URL with a toast."""
    st.session_state[_OTHER_REPORT] = True


def settle(manifest: Manifest) -> Settled:
    """Read the selection from the URL and apply it to all analyses of this report (``session.run``)."""
    settled = read_selection(manifest)
    problems = settled.problems
    if st.session_state.pop(_OTHER_REPORT, False) and problems:
        write_selection(settled)
        st.toast("  \n".join([*problems, "It is ignored."]), duration="long")
        settled = replace(settled, problems=())
    st.session_state[_LAST] = (manifest.id, _read_parameters())
    session.select(manifest.id, settled.params)
    return settled


def read_selection(manifest: Manifest, like: Settled | None = None) -> Settled:
    """Read a selection from the URL: that of the page's report, or of the report to compare with.

    ``like`` is the selection of the page's report. The other report inherits it if it has all of those ranges, GPUs and
    streams; its own URL parameters win.
    """
    paths = run_or_none(manifest.id, "range_paths", ["path", "name", "instances", "most", "is_warmup"])
    places = run_or_none(manifest.id, "devices", ["gpu_id", "gpu", "stream", "operations", "gpu_ns"])
    default = _build_default(paths) if like is None else _inherit_selection(like, paths, places)
    problems: list[str] = []
    prefix = "" if like is None else OTHER
    chosen = parse(_read_parameters(prefix), default, paths, places, problems)
    return Settled(manifest.id, chosen, default, tuple(problems), paths, places, prefix)


def swap_parameters(mine: Settled, theirs: Settled) -> dict[str, list[str]]:
    """Return the URL parameters after two compared reports swap places, each with its selection."""
    first = replace(theirs, default=_build_default(theirs.paths), prefix="")
    inherited = _inherit_selection(first, mine.paths, mine.places)
    second = list_changed(mine.chosen, inherited)
    return list_changed(first.chosen, first.default) | {OTHER + key: values for key, values in second.items()}


def _build_default(paths: pd.DataFrame) -> Selection:
    """Return the selection that applies without URL parameters."""
    return model.get_default(warmup=bool(paths["is_warmup"].any()))


def _inherit_selection(like: Settled, paths: pd.DataFrame, places: pd.DataFrame) -> Selection:
    """Return the selection of another report if this one has all of it; otherwise this report's default."""
    own, chosen = _build_default(paths), like.chosen
    unknown: list[str] = []
    for text in chosen.ranges:
        has_range(text, chosen.skip_first, paths, unknown)
    for value, column in ((chosen.device, "gpu_id"), (chosen.stream, "stream")):
        if value is not None and value not in places[column].dropna().tolist():
            unknown.append(column)
    if unknown:
        return own
    differing = (field.name for field in fields(chosen))
    return replace(own, **{n: getattr(chosen, n) for n in differing if getattr(chosen, n) != getattr(like.default, n)})


def write_selection(settled: Settled, **changes: Any) -> None:
    """Write the selection with some fields changed into the URL; parts that the report lacks are dropped."""
    fresh = list_changed(replace(settled.chosen, **changes), settled.default)
    wanted = {settled.prefix + key: values for key, values in fresh.items()}
    for key in (settled.prefix + key for key in KEYS):
        if key in st.query_params and key not in wanted:
            del st.query_params[key]
    changed = {key: values for key, values in wanted.items() if st.query_params.get_all(key) != values}
    if changed:
        st.query_params.update(changed)


def clear(prefix: str = "") -> None:
    """Remove the selection from the URL."""
    for key in (prefix + key for key in KEYS):
        if key in st.query_params:
            del st.query_params[key]


def clear_button(key: str) -> None:
    """Draw a button that clears the selection, for a page that the selection leaves empty."""
    st.button("Clear the selection", key=key, on_click=clear, icon=":material/close:")


def draw_stretch_button(label: str, key: str, from_ns: int, to_ns: int) -> None:
    """Draw a button that selects a time window; Streamlit does not follow a link from a page to itself."""
    times = {"from": milliseconds(from_ns), "to": milliseconds(to_ns)}
    st.button(label, key=key, type="tertiary", on_click=lambda: st.query_params.update(times))


def link(report_id: str, **more: str) -> dict[str, str | list[str]]:
    """Return the query of a link to another page of this report that keeps the selection."""
    return {session.PARAMETER: report_id, **_read_parameters(), **more}


def is_part(report_id: str) -> bool:
    """Return whether the pages show less than the whole report, even if only the warm-up is excluded by default."""
    return not model.parse(session.read_selected(report_id)).everything


def run_or_none(report_id: str, name: str, columns: list[str], **params: Any) -> pd.DataFrame:
    """Run an analysis on the whole report; return no rows if the report lacks the data."""
    try:
        return session.run_whole(report_id, name, **params)
    except NotCapturedError:
        return pd.DataFrame(columns=columns)


def _read_parameters(prefix: str = "") -> dict[str, list[str]]:
    return {key: st.query_params.get_all(prefix + key) for key in KEYS if prefix + key in st.query_params}
