"""The timeline as a Streamlit component without an iframe.

Its script is a file (``entry/component.js``) that Streamlit serves and that loads the modules from ``assets``. A script
passed as text would run from a ``blob:`` address, which the content security policy refuses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from app import streamlit_private
from app.timeline import assets
from profiledb.library.marks import Mark

NAME = "timeline"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class TimelineData:
    """The data that the timeline starts with.

    Args:
        report_id: the report.
        name: its name, for people and for names of files.
        selected: time range that all pages show, ns from the start of the capture; None: no limit.
        marks: marks that people stored with the report.
        may_edit: whether the user may store marks, too.
        may_add: whether there are reports to draw below it.
        others: ids and names of the reports drawn below it.
    """

    report_id: str
    name: str
    selected: tuple[int | None, int | None]
    marks: Sequence[Mark]
    may_edit: bool
    may_add: bool
    others: Sequence[tuple[str, str]]


def draw_timeline(
    timeline: TimelineData, on_select: Callable[[], None], on_mark: Callable[[], None], on_add: Callable[[], None]
) -> Any:
    """Draw the timeline of a report across the page.

    Args:
        timeline: the report, its marks, the selection and the other reports.
        on_select: called when the user makes an area the selection of all pages, or clears that selection:
            ``st.session_state["timeline"]["select"]`` is then ``{"from": ns, "to": ns}`` or ``{}``, untrusted.
        on_mark: called when the user stores marks: ``["mark"]`` is then ``{"report": id, "marks": [{"t": ns, "note":
            text}, ...]}``, untrusted; an empty note removes the mark.
        on_add: called when the user wants to choose the reports below this one.
    """
    component = streamlit_private.register_component(NAME, _FOLDER, "entry")
    mount = st.components.v2.component(component, js="component.js")
    data = {
        "report": timeline.report_id, "name": timeline.name, "module": f"{assets.get_folder_path().lstrip('/')}main.js",
        "selected": list(timeline.selected), "may_edit": timeline.may_edit, "may_add": timeline.may_add,
        "marks": [{"t": mark.t_ns, "note": mark.note} for mark in timeline.marks],
        "others": [{"id": report_id, "name": name} for report_id, name in timeline.others],
    }  # fmt: skip
    return mount(key=NAME, data=data, on_select_change=on_select, on_mark_change=on_mark, on_add_change=on_add)
