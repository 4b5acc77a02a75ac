"""What part of a report the pages show: it stands in the address, and is settled against the report at hand.

The address names what differs from the default, so that a link reproduces what its sender saw: ``range`` (repeated),
``first``, ``warmup``, ``mode``, ``device``, ``stream``, and ``from`` and ``to`` in milliseconds. Streamlit drops it
where a reader changes pages in the menu; ``restore`` then brings it back. The report that a page compares with has a
selection of its own under the same names with ``other_`` in front; what these do not say is as in the page's report.
"""

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from app import session
from app.selection import url_parameters
from app.selection.url_parameters import parse, there, written
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.selection import model
from profiledb.selection.model import Selection

KEYS = ("range", "first", "warmup", "mode", "device", "stream", "from", "to")
"""The parameters of the address."""
OTHER = "other_"
"""What stands in front of those of the report that the page's report is compared with."""

milliseconds, split = url_parameters.milliseconds, url_parameters.split

_LAST = "last_selection"
_OTHER_REPORT = "selection-other-report"


@dataclass(frozen=True)
class Settled:
    """A selection that fits its report.

    Args:
        report_id: the report.
        chosen: what the pages show.
        default: what they show where the address says nothing.
        problems: what the address asks for and the report does not have, in words (Markdown, escaped).
        paths: what a range can be (analysis ``range_paths``); no row without ranges.
        places: GPUs and streams (analysis ``devices``); no row where nothing ran on a GPU.
        prefix: what stands in front of its parameters in the address.
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
        """Whether the reader, or the link, chose anything."""
        return self.chosen != self.default

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of analyses."""
        return dict(model.to_params(self.chosen))

    @property
    def key(self) -> str:
        """What the keys of its widgets begin with."""
        return f"{self.prefix.replace('_', '-')}selection-"


def restore(manifest: Manifest) -> None:
    """Writes this session's last selection of a report into an address that says neither report nor selection."""
    last, asked = st.session_state.get(_LAST, ("", {}))
    if last == manifest.id and not any(key in st.query_params for key in (session.PARAMETER, *KEYS)):
        st.query_params.update(asked)


def other_report() -> None:
    """Says that the reader changes the report: what the next one does not have leaves the address, with a word."""
    st.session_state[_OTHER_REPORT] = True


def settle(manifest: Manifest) -> Settled:
    """Reads the selection from the address and makes it that of all analyses (session.run) of this report."""
    settled = read(manifest)
    problems = settled.problems
    if st.session_state.pop(_OTHER_REPORT, False) and problems:
        write(settled)
        st.toast("  \n".join([*problems, "It is ignored."]), duration="long")
        settled = replace(settled, problems=())
    st.session_state[_LAST] = (manifest.id, _asked())
    session.select(manifest.id, settled.params)
    return settled


def read(manifest: Manifest, like: Settled | None = None) -> Settled:
    """Reads a selection from the address: that of the page's report, or of the one to compare it with.

    ``like`` is the selection of the page's report: what its reader chose holds for the other report, too, where that
    has such ranges, GPUs and streams, and as far as the address says nothing else.
    """
    paths = optional(manifest.id, "range_paths", ["path", "name", "instances", "most", "is_warmup"])
    places = optional(manifest.id, "devices", ["gpu_id", "gpu", "stream", "operations", "gpu_ns"])
    default = _default(paths) if like is None else _inherited(like, paths, places)
    problems: list[str] = []
    prefix = "" if like is None else OTHER
    chosen = parse(_asked(prefix), default, paths, places, problems)
    return Settled(manifest.id, chosen, default, tuple(problems), paths, places, prefix)


def swapped(mine: Settled, theirs: Settled) -> dict[str, list[str]]:
    """The parameters of the address with which two compared reports change places, each with its selection."""
    first = replace(theirs, default=_default(theirs.paths), prefix="")
    inherited = _inherited(first, mine.paths, mine.places)
    second = written(mine.chosen, inherited)
    return written(first.chosen, first.default) | {OTHER + key: values for key, values in second.items()}


def _default(paths: pd.DataFrame) -> Selection:
    """What a page shows of a report where the address says nothing."""
    return model.default_selection(warmup=bool(paths["is_warmup"].any()))


def _inherited(like: Settled, paths: pd.DataFrame, places: pd.DataFrame) -> Selection:
    """What the reader chose of another report, where this one has all of it; else what a page shows by default."""
    own, chosen = _default(paths), like.chosen
    unknown: list[str] = []
    for text in chosen.ranges:
        there(text, chosen.skip_first, paths, unknown)
    for value, column in ((chosen.device, "gpu_id"), (chosen.stream, "stream")):
        if value is not None and value not in places[column].dropna().tolist():
            unknown.append(column)
    if unknown:
        return own
    differing = (field.name for field in fields(chosen))
    return replace(own, **{n: getattr(chosen, n) for n in differing if getattr(chosen, n) != getattr(like.default, n)})


def write(settled: Settled, **changes: Any) -> None:
    """Writes the selection, with some fields changed, into the address; what the report does not have leaves it."""
    fresh = written(replace(settled.chosen, **changes), settled.default)
    wanted = {settled.prefix + key: values for key, values in fresh.items()}
    for key in (settled.prefix + key for key in KEYS):
        if key in st.query_params and key not in wanted:
            del st.query_params[key]
    changed = {key: values for key, values in wanted.items() if st.query_params.get_all(key) != values}
    if changed:
        st.query_params.update(changed)


def clear(prefix: str = "") -> None:
    """Takes the selection out of the address."""
    for key in (prefix + key for key in KEYS):
        if key in st.query_params:
            del st.query_params[key]


def clear_button(key: str) -> None:
    """A button that takes the selection back, for a page that it leaves empty."""
    st.button("Clear the selection", key=key, on_click=clear, icon=":material/close:")


def stretch_button(label: str, key: str, from_ns: int, to_ns: int) -> None:
    """A button that chooses a stretch of time; Streamlit does not follow a link from a page to itself."""
    times = {"from": milliseconds(from_ns), "to": milliseconds(to_ns)}
    st.button(label, key=key, type="tertiary", on_click=lambda: st.query_params.update(times))


def link(report_id: str, **more: str) -> dict[str, str | list[str]]:
    """The query of a link to another page of this report: the selection goes along."""
    return {session.PARAMETER: report_id, **_asked(), **more}


def encoded() -> str:
    """The query of the address as text, all that this run has settled in it."""
    return urlencode([(name, value) for name in st.query_params for value in st.query_params.get_all(name)])


def is_part(report_id: str) -> bool:
    """Whether the pages show less than the whole report, be it only by the warm-up that is left out by default."""
    return not model.parse(session.selected(report_id)).everything


def optional(report_id: str, name: str, columns: list[str], **params: Any) -> pd.DataFrame:
    """An analysis of the whole report; no rows where the report does not have the data."""
    try:
        return session.whole(report_id, name, **params)
    except NotCapturedError:
        return pd.DataFrame(columns=columns)


def _asked(prefix: str = "") -> dict[str, list[str]]:
    return {key: st.query_params.get_all(prefix + key) for key in KEYS if prefix + key in st.query_params}
