"""The timeline as a component of Streamlit, without an iframe.

The policy of the pages allows no script but those that the server serves: a component whose script is text would be
run from a ``blob:`` address and refused. So its script is a file (``entry/component.js``), which Streamlit serves, and
which loads the modules from our own address (``assets``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from app.timeline import assets
from profiledb.library.marks import Mark

NAME = "timeline"
_PACKAGE = "warpdeck"
_COMPONENT = f"{_PACKAGE}.{NAME}"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class TimelineData:
    """What the timeline is told.

    Args:
        report_id: the report.
        name: its name, for people and for the names of files.
        selected: the time that all pages show, ns from the begin of the capture; None: no limit.
        marks: what people wrote beside the report.
        may_edit: whether the reader may write there, too.
        beside: ids and names of the reports below it.
    """

    report_id: str
    name: str
    selected: tuple[int | None, int | None]
    marks: Sequence[Mark]
    may_edit: bool
    beside: Sequence[tuple[str, str]]


def draw_timeline(shown: TimelineData, on_select: Callable[[], None], on_mark: Callable[[], None]) -> Any:
    """Draws the timeline of a report as wide as there is room.

    Args:
        shown: the report, and what else to draw.
        on_select: called when the reader makes an area the selection of all pages, or takes that back:
            ``st.session_state["timeline"]["select"]`` is then ``{"from": ns, "to": ns}`` or ``{}``, untrusted.
        on_mark: called when the reader writes marks that belong to a report: ``["mark"]`` is then ``{"report": id,
            "marks": [{"t": ns, "note": text}, ...]}``, untrusted; without a note a mark is to go.
    """
    _register()
    mount = st.components.v2.component(_COMPONENT, js="component.js")
    data = {
        "report": shown.report_id, "name": shown.name, "module": f"{assets.get_folder_path().lstrip('/')}main.js",
        "selected": list(shown.selected), "may_edit": shown.may_edit,
        "marks": [{"t": mark.t_ns, "note": mark.note} for mark in shown.marks],
        "beside": [{"id": report_id, "name": name} for report_id, name in shown.beside],
    }  # fmt: skip
    return mount(key=NAME, data=data, on_select_change=on_select, on_mark_change=on_mark)


def _register() -> None:
    """Tells Streamlit where the script is, which it else reads in the ``pyproject.toml`` of an installed package."""
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(_COMPONENT) is None:
        manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(NAME, "entry")])
        manager.register_from_manifest(manifest, _FOLDER)
