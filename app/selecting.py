"""What part of a report the pages show: it stands in the address, and is settled against the report at hand.

The address names what differs from the default, so that a link reproduces what its sender saw: ``range`` (repeated),
``first``, ``warmup``, ``mode``, ``device``, ``stream``, and ``from`` and ``to`` in milliseconds. Streamlit drops it
where a reader changes pages in the menu; ``restore`` then brings it back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import pandas as pd
import streamlit as st

from app import format as fmt
from app import session
from profiledb import selection
from profiledb.catalog import Manifest
from profiledb.errors import NotCapturedError
from profiledb.selection import Selection

KEYS = ("range", "first", "warmup", "mode", "device", "stream", "from", "to")
"""The parameters of the address."""

_LAST = "last_selection"
_OTHER_REPORT = "selection-other-report"
_NS_PER_MS = 1_000_000
_MOST_NS = 2**62


@dataclass(frozen=True)
class Settled:
    """A selection that fits its report.

    Args:
        report_id: the report.
        chosen: what the pages show.
        default: what they show where the address says nothing.
        problems: what the address asks for and the report does not have, in words (Markdown, escaped).
        paths: what a range can be (analysis ``range_paths``); no row without NVTX.
        places: GPUs and streams (analysis ``devices``); no row where nothing ran on a GPU.
    """

    report_id: str
    chosen: Selection
    default: Selection
    problems: tuple[str, ...]
    paths: pd.DataFrame
    places: pd.DataFrame

    @property
    def partly(self) -> bool:
        """Whether the reader, or the link, chose anything."""
        return self.chosen != self.default


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
    paths = optional(manifest.id, "range_paths", ["path", "name", "instances", "most", "is_warmup"])
    places = optional(manifest.id, "devices", ["gpu_id", "gpu", "stream", "operations", "gpu_ns"])
    default = Selection(mode="process", warmup="exclude" if bool(paths["is_warmup"].any()) else "include")
    problems: list[str] = []
    chosen = _read(default, paths, places, problems)
    settled = Settled(manifest.id, chosen, default, tuple(problems), paths, places)
    if st.session_state.pop(_OTHER_REPORT, False) and problems:
        write(settled)
        st.toast("  \n".join([*problems, "The selection goes on without it."]), duration="long")
        settled = replace(settled, problems=())
    st.session_state[_LAST] = (manifest.id, _asked())
    session.select(manifest.id, selection.as_params(chosen))
    return settled


def write(settled: Settled, **changes: Any) -> None:
    """Writes the selection, with some fields changed, into the address; what the report does not have leaves it."""
    wanted = _address(replace(settled.chosen, **changes), settled.default)
    for key in KEYS:
        if key in st.query_params and key not in wanted:
            del st.query_params[key]
    changed = {key: values for key, values in wanted.items() if st.query_params.get_all(key) != values}
    if changed:
        st.query_params.update(changed)


def clear() -> None:
    """Takes the selection out of the address."""
    for key in KEYS:
        if key in st.query_params:
            del st.query_params[key]


def clear_button(key: str) -> None:
    """A button that takes the selection back, for a page that it leaves empty."""
    st.button("Clear the selection", key=key, on_click=clear, icon=":material/close:")


def link(report_id: str, **more: str) -> dict[str, str | list[str]]:
    """The query of a link to another page of this report: the selection goes along."""
    return {session.PARAMETER: report_id, **_asked(), **more}


def is_part(report_id: str) -> bool:
    """Whether the pages show less than the whole report, be it only by the warm-up that is left out by default."""
    return not selection.parse(session.selected(report_id)).everything


def milliseconds(ns: int) -> str:
    """A time in ns as the address has it: milliseconds without needless digits."""
    return f"{Decimal(ns) / _NS_PER_MS:f}"


def split(text: str, paths: pd.DataFrame) -> tuple[str, int | None, int | None, int]:
    """A range with the instances of it: its name, the first and the last one or None for all, and how many it has.

    The count is 0 where the report has no such range.
    """
    if most := _most(text, paths):
        return text, None, None, most
    match = selection.INSTANCE.fullmatch(text)
    if match and (most := _most(match["path"], paths)):
        return match["path"], int(match["first"]), int(match["last"] or match["first"]), most
    return text, None, None, 0


def _most(text: str, paths: pd.DataFrame) -> int:
    for column in ("path", "name"):
        found = paths.loc[paths[column] == text, "most"]
        if len(found):
            return int(found.max())
    return 0


def optional(report_id: str, name: str, columns: list[str], **params: Any) -> pd.DataFrame:
    """An analysis of the whole report; no rows where the report does not have the data."""
    try:
        return session.whole(report_id, name, **params)
    except NotCapturedError:
        return pd.DataFrame(columns=columns)


def _asked() -> dict[str, list[str]]:
    return {key: st.query_params.get_all(key) for key in KEYS if key in st.query_params}


def _address(chosen: Selection, default: Selection) -> dict[str, list[str]]:
    """The parameters of the address that differ from the default."""
    fields: dict[str, tuple[str, Callable[[Any], str]]] = {
        "first": ("skip_first", str),
        "warmup": ("warmup", str),
        "mode": ("mode", str),
        "device": ("device", str),
        "stream": ("stream", str),
        "from": ("from_ns", milliseconds),
        "to": ("to_ns", milliseconds),
    }
    found = {
        key: [form(value)]
        for key, (name, form) in fields.items()
        if (value := getattr(chosen, name)) != getattr(default, name) and value is not None
    }
    return found | ({"range": list(chosen.ranges)} if chosen.ranges else {})


def _read(default: Selection, paths: pd.DataFrame, places: pd.DataFrame, problems: list[str]) -> Selection:
    """The selection of the address, without what the report does not have: that goes to ``problems``."""
    asked = {key: values[-1].strip() for key, values in _asked().items() if values and key != "range"}
    skip = _number(asked, "first", problems) or 0
    ranges = tuple(text for text in dict.fromkeys(st.query_params.get_all("range")) if text)
    kept = tuple(text for text in ranges if _there(text, skip, paths, problems))
    first, last = _time(asked, "from", problems), _time(asked, "to", problems)
    if first is not None and last is not None and first >= last:
        problems.append("A stretch of time that ends before it begins is not used.")
        first = last = None
    return replace(
        default,
        ranges=kept,
        skip_first=skip if kept else 0,
        warmup=_choice(asked, "warmup", default.warmup, problems),
        mode=_choice(asked, "mode", default.mode, problems),
        device=_place(asked, "device", "gpu_id", places, problems),
        stream=_place(asked, "stream", "stream", places, problems),
        from_ns=first,
        to_ns=last,
    )


def _there(text: str, skip: int, paths: pd.DataFrame, problems: list[str]) -> bool:
    _, first, last, most = split(text, paths)
    if not most:
        problems.append(f"Range {fmt.plain(text)} is not in this report.")
    elif max(first or 1, 1 + skip) > min(most if last is None else last, most):
        problems.append(f"Range {fmt.plain(text)} has no such instance: there are {fmt.count(most)} of it.")
    else:
        return True
    return False


def _choice(asked: Mapping[str, str], key: str, default: str, problems: list[str]) -> str:
    value = asked.get(key) or default
    if value in selection.CHOICES[key]:
        return value
    problems.append(f"{fmt.plain(key)} cannot be {fmt.plain(value)}.")
    return default


def _place(asked: Mapping[str, str], key: str, column: str, places: pd.DataFrame, problems: list[str]) -> int | None:
    number = _number(asked, key, problems)
    if number is not None and number not in places[column].dropna().tolist():
        problems.append(f"{'GPU' if key == 'device' else 'Stream'} {number} is not in this report, or ran nothing.")
        return None
    return number


def _number(asked: Mapping[str, str], key: str, problems: list[str]) -> int | None:
    value = asked.get(key, "")
    if value.isdecimal() and len(value) < len(str(_MOST_NS)):
        return int(value)
    if value:
        problems.append(f"{fmt.plain(key)} takes a whole number, not {fmt.plain(fmt.shortened(value, 40))}.")
    return None


def _time(asked: Mapping[str, str], key: str, problems: list[str]) -> int | None:
    if not (value := asked.get(key, "")):
        return None
    try:
        ns = Decimal(value) * _NS_PER_MS
        if 0 <= ns < _MOST_NS:
            return round(ns)
    except (InvalidOperation, ValueError):
        pass  # no number: said below
    problems.append(f"{fmt.plain(key)} takes milliseconds from the begin of the capture, not {fmt.plain(value[:40])}.")
    return None
