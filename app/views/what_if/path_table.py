"""The critical path of all replayed steps or of one, by kernel, range or operator, with the slack of the rest."""

from dataclasses import asdict

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, tables, theme, url_widgets
from app.ui.table_columns import Col
from profiledb.library.catalog import Manifest
from profiledb.replay import path_table
from profiledb.replay.path_table import GROUPINGS, PathTable
from profiledb.replay.saving import VERSION
from profiledb.studies.scaling import family

KINDS = share_bar.REASONS | {"copies": "Copies", "memory sets": "Memory sets"}
"""Titles of parts of the critical path that are no kernels."""
_BY = dict(zip(GROUPINGS, ("Kernels and calls", "Ranges", "Operators"), strict=True))
_PATH = (
    Col("path_ns", "On the path", kind="duration", help="Part of the time of the steps; the rows add up to it"),
    Col("share_pct", "Share", kind="bar", width=110, help="Share of the time of the steps"),
    Col("least_ns", "Least slack", kind="duration", help="Of the one that has least"),
    Col("median_ns", "Median slack", kind="duration"),
    Col("critical", "Critical", kind="count", help="How many have no slack"),
    Col("count", "Count", kind="count", help="How many there are, on the path or not"),
    Col("ns", "Time", kind="duration", help="Of all of them together"),
)
COLUMNS = {
    "kernel": (Col("kind", "Part"), Col("name", "Name", width=300), *_PATH),
    "range": (Col("name", "Range", width=300), *_PATH),
    "operator": (Col("name", "Operator", width=300), *_PATH),
}
_MOST = 200


def draw_path(manifest: Manifest) -> None:
    st.subheader("Critical path", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = str(
            st.segmented_control(
                "Rows", list(GROUPINGS), format_func=_BY.__getitem__, required=True,
                **url_widgets.bind_option("by", GROUPINGS, GROUPINGS[0]),
            )
        )  # fmt: skip
        steps = _read(manifest, by, None).steps
        step = _choose_step(steps) if len(steps) > 1 else None
    table = _read(manifest, by, step)
    st.caption(
        "What the time of the steps consists of. Slack is how much later a kernel, a call or the start of a range may"
        " come before the steps take longer."
    )
    if by != "kernel" and not any(row.name for row in table.rows):
        st.info(f"The steps contain no {by}s.")
        return
    rows = pd.DataFrame([asdict(row) for row in table.rows[:_MOST]])
    rows["kind"] = rows["kind"].map(get_kind_title)
    if by != "kernel":
        rows["name"] = rows["name"].replace("", f"Outside of {by}s")
    counts = ["least_ns", "median_ns", "critical", "count", "ns"]
    rows[counts] = rows[counts].astype("Int64")
    tables.draw_table(rows, COLUMNS[by], key=f"critical-path-{by}", download="critical_path.csv")
    if len(table.rows) > _MOST:
        st.caption(f"The first {_MOST} of {fmt.count(len(table.rows))}.")


def _choose_step(steps: tuple[int, ...]) -> int | None:
    numbers = {"all": None} | {str(one): one for one in steps}
    chosen = st.selectbox(
        "Step", list(numbers), width=160, format_func=lambda text: "All steps" if text == "all" else f"Step {text}",
        help="By its number on the page Ranges", **url_widgets.bind_option("step", list(numbers), "all"),
    )  # fmt: skip
    return numbers[str(chosen)]


def _read(manifest: Manifest, by: str, step: int | None) -> PathTable:
    """Return the path, computed once and shared by all sessions."""
    library = session.library()
    ranks = family.find_ranks(library, manifest)
    key = session.make_key(manifest.id, f"critical_path {VERSION}", {}, (by, step, *ranks))
    return session.work_out(key, lambda: path_table.read_path(library, manifest.id, by, step, ranks))


def get_kind_title(kind: str) -> str:
    """Return the display name of a critical-path kind: a kernel class, an idle reason, or copies."""
    return KINDS.get(kind) or theme.get_class_titles().get(kind, kind)
