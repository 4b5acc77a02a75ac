"""Sidecar files that wait for their report or for the meaning of their columns."""

import json

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements
from app.web import access
from profiledb.library.catalog import Job
from profiledb.report import sidecar
from profiledb.report.sidecar import Columns

FEW = 3
"""Most waiting files listed by name; the rest are only counted."""

_OPEN = "library-columns"
_NONE = "none"


def draw_waiting(alone: int) -> None:
    """List sidecars without a report and sidecars that may be truncated, and ask about unknown columns."""
    if alone:
        names = ", ".join(fmt.plain(fmt.shortened(job.name, 48)) for job in session.list_jobs("alone")[:FEW])
        more = f" and {alone - FEW} more" if alone > FEW else ""
        verb = "waits" if alone == 1 else "wait"
        st.caption(f"{names}{more} {verb} for a report with the same name.")
    for job in session.list_warned_jobs(FEW):
        st.caption(f":material/warning: {fmt.plain(job.message)}")
    for job in session.list_jobs("columns"):
        _draw_question(job)


def _draw_question(job: Job) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f":material/table_chart: {fmt.plain(job.message)}", width="content")
        if access.may_edit() and st.button("Name the columns", key=f"columns-{job.path}"):
            st.session_state[_OPEN] = job.path
            st.rerun()


def draw_dialog() -> None:
    """Ask for the meaning of a table's columns after its button is pressed, until answered or dismissed."""
    path = st.session_state.get(_OPEN)
    job = next((job for job in session.list_jobs("columns") if job.path == path), None) if path else None
    if job:
        st.dialog("Which columns are these?", on_dismiss=_close_dialog)(_draw_dialog)(job)


def _draw_dialog(job: Job) -> None:
    with page_elements.boundary():
        names: list[str] = json.loads(job.detail)
        st.caption(f"{fmt.plain(job.name)} has the columns {fmt.plain(', '.join(names))}.")
        label = _choose_column("Label: the name of the range", "label", [*names, _NONE])
        text = ""
        if label == _NONE:
            text = st.text_input("Label of every row", key="columns-text", placeholder="Range name").strip()
        step = _choose_column(
            "Step", "step", [*names, _NONE], "Without a step column, rows count from 0 within each label."
        )
        with st.container(horizontal=True):
            time = _choose_column("Time", "time", names)
            unit = st.selectbox("in", list(sidecar.UNITS), key="columns-unit", width=160)
        ready = time is not None and (text if label == _NONE else label)
        if st.button("Import", type="primary", disabled=not ready, key="columns-done"):
            columns = Columns(_read_choice(label), _read_choice(step), _read_choice(time), unit, text)
            session.open_for_changes().catalog.name_columns(job.path, columns)
            _close_dialog()
            st.rerun()


def _choose_column(title: str, key: str, options: list[str], about: str | None = None) -> str | None:
    near = next((i for i, name in enumerate(options) if key in name.lower()), None)
    chosen: str | None = st.selectbox(
        title, options, index=near, key=f"columns-{key}", format_func=fmt.visible, placeholder="Choose", help=about
    )
    return chosen


def _read_choice(chosen: str | None) -> str:
    return "" if chosen in (None, _NONE) else str(chosen)


def _close_dialog() -> None:
    st.session_state.pop(_OPEN, None)
