"""Actions on selected reports: open, rename, label, pin, compare, download and delete them."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import page_list, session
from app.selection.compared_report import OTHER
from app.ui import format as fmt
from app.ui import navigation, page_elements, report_links, summary_button
from app.ui.pin_button import draw_pin_button
from app.web import access
from profiledb.library.catalog import LONGEST_TITLE, TIMELINE, Manifest

_DOOMED = "library-delete"
_LABELS = "library-labels"
_RENAMED = "library-rename"
_NAME_LETTERS = 32


def draw_actions(
    selected: Sequence[Manifest], labels: Mapping[str, Sequence[str]], partners: Mapping[str, Sequence[str]]
) -> None:
    """Draw the actions for the selected reports into the current row."""
    if not selected:
        can = "rename, label, pin, compare, download or delete" if access.may_edit() else "compare or download"
        st.caption(f"Select rows to {can} reports.", width="content")
        return
    alone = selected[0] if len(selected) == 1 else None
    name = fmt.shortened(alone.shown_name, _NAME_LETTERS) if alone else f"{len(selected)} selected"
    linked = ", ".join(partners.get(alone.id, ())) if alone else ""
    about = " · ".join(
        part for part in ((alone.name if alone and alone.title else ""), linked and f"linked with {linked}") if part
    )
    st.markdown(f"**{fmt.plain(name)}**", width="content", help=fmt.plain(about) or None)
    if alone and st.button("Open", type="primary"):
        page_elements.open_report(alone)
    if access.may_edit():
        if alone:
            st.button("Rename", on_click=_ask_name, args=(alone.id,))
        with st.popover("Labels"):
            _edit_labels(selected, labels)
        if alone:
            draw_pin_button(alone, "library-pin")
            report_links.draw_action(alone)
    _draw_compare(selected)
    if alone:
        with st.popover("Download"):
            summary_button.draw_buttons(alone)
    if access.may_edit() and st.button("Delete"):
        st.session_state[_DOOMED] = [r.id for r in selected]


def _draw_compare(selected: Sequence[Manifest]) -> None:
    """Draw the button that compares two reports, or one with another that the page asks for."""
    timed = [report for report in selected if TIMELINE in report.subjects]
    if len(timed) != len(selected) or len(timed) > 2:
        return
    if st.button("Compare" if timed[1:] else "Compare with …"):
        other = {OTHER: timed[1].id} if timed[1:] else {}
        navigation.to(page_list.get_script("compare"), {session.PARAMETER: timed[0].id} | other)


def _ask_name(report_id: str) -> None:
    st.session_state[_RENAMED] = report_id


def _draw_rename_dialog(report: Manifest) -> None:
    with page_elements.boundary():
        with st.form("rename", border=False):
            name = st.text_input("Name", report.shown_name, max_chars=LONGEST_TITLE, key=f"{_RENAMED}-name")
            st.caption(f"The file keeps its name: {fmt.plain(report.name)}. An empty name removes this one.")
            saved = st.form_submit_button("Rename", type="primary")
        if saved:
            session.open_for_changes().catalog.rename(report.id, name)
            _close_rename()
            st.rerun()


def _close_rename() -> None:
    st.session_state.pop(_RENAMED, None)


def _edit_labels(selected: Sequence[Manifest], labels: Mapping[str, Sequence[str]]) -> None:
    common = sorted(set.intersection(*(set(labels.get(r.id, ())) for r in selected)))
    ids = [r.id for r in selected]
    key = f"{_LABELS}-{'-'.join(ids)}"
    st.session_state.setdefault(key, common)
    st.multiselect(
        "Labels" if len(ids) == 1 else "Labels that all selected reports have",
        sorted({*session.read_choices("labels"), *st.session_state[key]}),
        key=key,
        accept_new_options=True,
        placeholder="Choose or type a label",
        on_change=_save_labels,
        args=(key, ids, common),
    )


def _save_labels(key: str, ids: Sequence[str], common: Sequence[str]) -> None:
    """Save label changes; labels that only some of the reports have stay as they are."""
    chosen = set(st.session_state[key])
    catalog = session.open_for_changes().catalog
    current = catalog.listing.labels_of(ids)
    for report_id in ids:
        catalog.set_labels(report_id, sorted(set(current.get(report_id, ())) - (set(common) - chosen) | chosen))


def draw_dialogs() -> None:
    """Ask for a new name, or for confirmation before deleting. A dialog stays open when the page behind it reruns."""
    chosen = st.session_state.get(_RENAMED, "")
    if chosen and (renamed := session.reports([chosen]).get(chosen)):
        st.dialog("Rename this report", on_dismiss=_close_rename)(_draw_rename_dialog)(renamed)
    doomed = list(session.reports(st.session_state.get(_DOOMED, ())).values())
    if doomed:
        title = "Delete this report?" if len(doomed) == 1 else f"Delete {len(doomed)} reports?"
        st.dialog(title, on_dismiss=_keep_reports)(_draw_delete_dialog)(doomed)


def _draw_delete_dialog(doomed: Sequence[Manifest]) -> None:
    with page_elements.boundary():
        for manifest in doomed[:8]:
            st.text(fmt.visible(manifest.shown_name))
        if len(doomed) > 8:
            st.text(f"and {len(doomed) - 8} more")
        st.caption("The report, its labels and its links are removed for everyone. The source file stays where it is.")
        with st.container(horizontal=True):
            if st.button("Delete", type="primary", key="delete-confirmed"):
                for manifest in doomed:
                    session.open_for_changes().delete(manifest.id)
                _keep_reports()
                st.rerun()
            if st.button("Keep", key="delete-kept"):
                _keep_reports()
                st.rerun()


def _keep_reports() -> None:
    st.session_state.pop(_DOOMED, None)
