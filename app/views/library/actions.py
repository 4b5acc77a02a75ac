"""Actions on selected reports: label and delete them."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements, report_links
from app.web import access
from profiledb.library.catalog import Manifest

_DOOMED = "library-delete"
_LABELS = "library-labels"


def bar(
    selected: Sequence[Manifest], labels: Mapping[str, Sequence[str]], partners: Mapping[str, Sequence[str]]
) -> None:
    """Draw the actions for the selected reports into the current row."""
    if not selected:
        can = "label or delete" if access.may_edit() else "open"
        st.caption(f"Select rows to {can} reports.", width="content")
        return
    alone = selected[0] if len(selected) == 1 else None
    st.markdown(
        f"**{fmt.plain(fmt.shortened(alone.name, 48)) if alone else f'{len(selected)} selected'}**", width="content"
    )
    if alone and (linked := partners.get(alone.id)):
        st.caption(f"linked with {fmt.plain(fmt.shortened(', '.join(linked), 48))}", width="content")
    if alone and st.button("Open", type="primary"):
        page_elements.open_report(alone)
    if not access.may_edit():
        return
    with st.popover("Labels", icon=":material/label:"):
        _edit_labels(selected, labels)
    if alone:
        report_links.action(alone)
    if st.button("Delete", icon=":material/delete:"):
        st.session_state[_DOOMED] = [r.id for r in selected]


def _edit_labels(selected: Sequence[Manifest], labels: Mapping[str, Sequence[str]]) -> None:
    common = sorted(set.intersection(*(set(labels.get(r.id, ())) for r in selected)))
    ids = [r.id for r in selected]
    key = f"{_LABELS}-{'-'.join(ids)}"
    st.session_state.setdefault(key, common)
    st.multiselect(
        "Labels" if len(ids) == 1 else "Labels that all selected reports have",
        sorted({label for names in labels.values() for label in names} | set(st.session_state[key])),
        key=key,
        accept_new_options=True,
        placeholder="Choose or type a label",
        on_change=_save_labels,
        args=(key, ids, common),
    )


def _save_labels(key: str, ids: Sequence[str], common: Sequence[str]) -> None:
    """Save label changes; labels that only some of the reports have stay as they are."""
    chosen = set(st.session_state[key])
    catalog = session.editing().catalog
    current = catalog.labels()
    for report_id in ids:
        catalog.set_labels(report_id, sorted(set(current.get(report_id, ())) - (set(common) - chosen) | chosen))


def confirm_delete() -> None:
    """Ask for confirmation before deleting. The dialog stays open when the page behind it reruns."""
    known = {r.id: r for r in session.reports()}
    doomed = [known[i] for i in st.session_state.get(_DOOMED, ()) if i in known]
    if doomed:
        title = "Delete this report?" if len(doomed) == 1 else f"Delete {len(doomed)} reports?"
        st.dialog(title, on_dismiss=_keep)(_ask)(doomed)


def _ask(doomed: Sequence[Manifest]) -> None:
    with page_elements.boundary():
        for manifest in doomed[:8]:
            st.text(fmt.visible(manifest.name))
        if len(doomed) > 8:
            st.text(f"and {len(doomed) - 8} more")
        st.caption("The report, its labels and its links are removed for everyone. The source file stays where it is.")
        with st.container(horizontal=True):
            if st.button("Delete", type="primary", key="delete-confirmed"):
                for manifest in doomed:
                    session.editing().delete(manifest.id)
                _keep()
                st.rerun()
            if st.button("Keep", key="delete-kept"):
                _keep()
                st.rerun()


def _keep() -> None:
    st.session_state.pop(_DOOMED, None)
