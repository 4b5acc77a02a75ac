"""Tables of the Run page."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, table_columns, tables, url_widgets
from profiledb.query.header import Column
from profiledb.studies import run_figures, run_gate
from profiledb.studies.run_figures import RUN_MEASURES
from profiledb.studies.run_lookup import RunLine
from profiledb.studies.runs import pace, recipes
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_list import Run
from profiledb.studies.runs.run_rows import COMMUNICATORS, KERNELS, RANKS

_MEAN = "mean per step over the ranks"
_MINUTE = "%Y-%m-%d %H:%M"
_RECIPE_PX = 320
_PER = ("One per name", "One per name and rank")
RANK_COLUMNS = table_columns.choose_columns(
    RANKS,
    table_columns.use("rank", width=60),
    table_columns.use("host", width=140),
    "step_ns", "compute_ns", "exposed_ns", "wait_ns", "copy_ns", "idle_ns", "power_w", "sm_clock_mhz", "memory_bytes",
    "last",
)  # fmt: skip
KERNEL_COLUMNS = table_columns.choose_columns(
    KERNELS,
    table_columns.use("name", width=320),
    table_columns.use("class", width=184),
    "median_ns", "min_ns", "max_ns", "spread_pct", "slowest", "calls", "ranks",
)  # fmt: skip
COMMUNICATOR_COLUMNS = table_columns.choose_columns(
    COMMUNICATORS,
    table_columns.use("operation", width=130),
    table_columns.use("kind", width=90),
    table_columns.use("communicator", width=200),
    table_columns.use("members", width=110),
    "ranks", "nodes", "count", "transfer_ns", "wait_ns", "busbw_gb_per_s",
)  # fmt: skip


EARLIER_COLUMNS = table_columns.choose_columns(
    (
        Column("name", "text", "", "name of the run", "Run"),
        Column("captured", "text", "", "start of its earliest capture", "Captured (UTC)"),
        *(
            Column(one.name, one.unit, "", "number of them" if one.unit == "count" else _MEAN, one.title)
            for one in RUN_MEASURES.values()
        ),
        Column("straggler", "id", "", "rank that holds up the others"),
    ),
    table_columns.use("name", width=150),
    table_columns.use("captured", width=130),
    *RUN_MEASURES,
    "straggler",
)


def draw_ranks(rows: pd.DataFrame) -> None:
    _draw_table("Ranks", rows, RANK_COLUMNS, "run-ranks", ("report",))


def draw_communicators(rows: pd.DataFrame) -> None:
    if len(rows):
        _draw_table("Waits by communicator", rows, COMMUNICATOR_COLUMNS, "run-communicators")


def draw_kernels(rows: pd.DataFrame) -> None:
    if len(rows):
        _draw_table("Kernels over the ranks", rows, KERNEL_COLUMNS, "run-kernels")


def draw_earlier(run: Run, known: RunAnswer) -> None:
    """Draw the run below the earlier ones of its series, as far as they have been worked out; nothing without one."""
    lines = [one for one in run_gate.list_before(session.run_lines(), run) if one.figures]
    if not lines:
        return
    late = known.straggler.rank if known.straggler else None
    lines.append(RunLine(run, "", figures=run_figures.measure_run(known), straggler=late))
    names = [
        {"name": fmt.visible(one.run.name), "captured": one.run.begin_ns, "straggler": one.straggler} for one in lines
    ]
    rows = pd.DataFrame(names).join(pd.DataFrame([dict(one.figures or {}) for one in lines]))
    rows["captured"] = pd.to_datetime(rows["captured"], utc=True, unit="ns", errors="coerce").dt.strftime(_MINUTE)
    _draw_table("Runs of this series", rows.iloc[::-1].reset_index(drop=True), EARLIER_COLUMNS, "run-earlier")
    st.caption(f"{fmt.plain(run_gate.describe_series(run))}, newest first. `warpdeck check --run` is a gate for them.")


def _draw_table(
    title: str, rows: pd.DataFrame, columns: tuple[table_columns.Col, ...], key: str, hidden: tuple[str, ...] = ()
) -> None:
    st.subheader(title, anchor=False)
    tables.draw_table(
        rows, table_columns.select_filled(rows, columns), key=key, download=f"{key.replace('-', '_')}.csv",
        hidden=hidden, height=share_bar.compute_height(min(len(rows), 12)),
    )  # fmt: skip


def draw_recipe(run: Run) -> None:
    """Draw the choice of a recipe of nsys and, once one is chosen, its rows over all ranks of the run."""
    st.subheader("Recipes of Nsight Systems", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Recipe", recipes.RECIPES, index=None, placeholder="Choose a recipe", width=_RECIPE_PX,
            **url_widgets.bind_option("recipe", recipes.RECIPES),
        )  # fmt: skip
        summary = name in recipes.STATISTICS or name in recipes.DESCRIPTIONS
        per = st.segmented_control(
            "Rows", _PER, required=True, disabled=not summary, **url_widgets.bind_option("per", _PER, _PER[0])
        )  # fmt: skip
    if not name:
        st.caption("A table over all ranks, with the columns of `nsys recipe`. Each report is asked in turn.")
        return
    params = {}
    if name in pace.PACE:
        params["name"] = st.text_input(
            "Name", placeholder="Short name of a kernel, or text of a range", **url_widgets.bind_text("of")
        ).strip()
        if not params["name"]:
            st.caption("Each occurrence is an iteration: when it runs on each rank, and how long after the one before.")
            return
    library, by_rank = session.library(), per == _PER[1]
    with st.spinner("Asking each rank …"):
        rows = session.work_out(
            (library.folder, "recipe", name, by_rank, *params.values(), tuple(run.reports)),
            lambda: recipes.run_recipe(library, run, name, params, by_rank=by_rank),
        )
    if rows.empty:
        st.info("No rank has such events.")
        return
    columns = recipes.list_columns(name, rows)
    tables.draw_table(
        rows, table_columns.choose_columns(columns, *(column.name for column in columns)),
        key=f"run-recipe-{name}-{by_rank}", download=f"{name}.csv", height=share_bar.compute_height(min(len(rows), 20)),
    )  # fmt: skip
