"""The runs on the Scaling page: the reports that the URL names, and their cached rows."""

from typing import Any

import streamlit as st

from app import session
from app.ui import format as fmt
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.report import sidecar
from profiledb.studies.scaling import family, runs
from profiledb.studies.scaling.family import Named
from profiledb.studies.scaling.runs import Run, RunAnalysis

WITH = "with"
"""Query parameter for the other reports; if it is missing, the page shows the report's family."""
ALONE = "alone"
"""Value of that parameter if the reader removed all other reports."""
MOST = 64
"""Most reports of a family that are loaded by default."""
_KEY = "scaling-with"


def choose(manifest: Manifest) -> tuple[list[Named], int]:
    """Return the reports to show, the page's own first, and the number left out because of ``MOST``."""
    named = session.list_about(TIMELINE, without=manifest.id, named_by=WITH)
    own, *others = family.join_overlapping([_read_named(manifest), *map(_read_named, named.values())])
    known = {one.id: one for one in others}
    relatives = family.find_family(own, known.values())[1:]
    usual = sorted((relative.id for relative in relatives[: MOST - 1]), key=lambda key: known[key].name)
    asked = st.query_params.get_all(WITH)
    chosen = session.read_named(WITH, named) if asked else usual
    st.session_state[_KEY] = chosen
    if known:
        order = sorted(known, key=lambda key: (key not in usual, known[key].name))
        title = f"{len(chosen) + 1} reports" if chosen else "1 report"
        with st.expander(title, expanded=bool(asked) or not chosen):
            st.multiselect(
                "Other reports", order, key=_KEY, format_func=lambda key: fmt.visible(known[key].name),
                placeholder="Add reports of other ranks and runs", on_change=_write_chosen, args=(usual,),
                label_visibility="collapsed",
            )  # fmt: skip
    return [own, *(known[key] for key in chosen)], 0 if asked else max(0, len(relatives) - MOST + 1)


def _write_chosen(usual: list[str]) -> None:
    chosen = st.session_state[_KEY]
    if sorted(chosen) == sorted(usual):
        st.query_params.pop(WITH, None)
    else:
        st.query_params[WITH] = chosen or [ALONE]


def gather(named: list[Named]) -> tuple[list[Run], list[str]]:
    """Return the runs of these reports and a sentence for each report left out; computed once for all sessions."""

    def read() -> tuple[list[Run], list[str]]:
        with st.spinner("Reading the reports of all ranks"):
            return runs.gather_runs(named, _analyze_run)

    return session.work_out(tuple((one, session.make_key(one.id, "runs", {})) for one in named), read)


def _analyze_run(report_id: str) -> RunAnalysis:
    def run(name: str, **params: Any) -> Any:
        return session.run_whole(report_id, name, **params)

    return run


def _read_named(manifest: Manifest) -> Named:
    """Return the report's run, rank and other facts, read again only when its sidecar of facts changes."""
    shelf = session.library()
    facts_stamp = shelf.stamp(sidecar.get_path(shelf.reports, manifest.id, "meta"))
    key = ("named", str(shelf.folder), manifest.id, manifest.name, facts_stamp)
    return session.work_out(key, lambda: family.read_named(shelf, manifest))
