"""Search and filters of the Library; the URL keeps them."""

from collections.abc import Callable, Sequence
from datetime import date

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import judged_findings, page_elements, url_widgets
from app.views.library import paging
from profiledb.library.report_list import Filters

LONGEST = 400
"""Length limit of a search, in characters."""
_WERE = "library-filters-were"


def choose() -> Filters:
    """Draw the filters and return the reader's choice. Another choice begins at the first page of the list."""
    judged_by = judged_findings.read_version()
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="library-filters"):
        text = st.text_input(
            "Search", placeholder="Search name, GPU, command, label", label_visibility="collapsed", width=262,
            **url_widgets.bind_text("q"),
        )  # fmt: skip
        kinds = _choose_any("Kind", "kind", session.read_choices("kinds"), page_elements.get_kind_title)
        gpus = _choose_any("GPU", "gpu", session.read_choices("gpus"), fmt.visible)
        chosen = _choose_any("Label", "label", session.read_choices("labels"), fmt.visible)
        every = judged_findings.read_rules()
        titles = {name: every[name].title for name in session.read_choices("rules", judged_by) if name in every}
        named = sorted(titles, key=lambda name: titles[name].casefold())
        rules = _choose_any("Finding", "finding", named, titles.__getitem__) if named else []
        days = st.date_input(
            "Captured", value=[], label_visibility="collapsed", width=236, **url_widgets.bind_days("captured")
        )
    since, until = _read_span(days)
    filters = Filters(
        text[:LONGEST], tuple(kinds), tuple(gpus), tuple(chosen), tuple(rules), since, until, judged_by if rules else ""
    )
    if st.session_state.get(_WERE, filters) != filters:
        st.query_params.pop(paging.PAGE_NUMBER, None)
    st.session_state[_WERE] = filters
    return filters


def _choose_any(title: str, key: str, options: Sequence[str], shown: Callable[[str], str]) -> list[str]:
    return st.multiselect(
        title, options, format_func=shown, placeholder=title, label_visibility="collapsed", width=142,
        **url_widgets.bind_options(key, options),
    )  # fmt: skip


def _read_span(days: object) -> tuple[date | None, date | None]:
    """Return the first and last day of a date input; a half-entered range has only the first."""
    ends = [day for day in days if isinstance(day, date)] if isinstance(days, Sequence) else []
    return (ends[0] if ends else None), (ends[1] if len(ends) > 1 else None)
