"""Series of runs on several GPUs: the newest run of each, judged against those before."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import page_list, session
from app.ui import format as fmt
from app.ui import navigation, tables
from app.ui.table_columns import Col
from app.views.trends.sentences import format_share, format_value
from app.views.trends.series_table import LEAST_SPARK
from profiledb.studies import run_gate
from profiledb.studies.run_figures import RUN_MEASURES
from profiledb.studies.run_gate import RunSeries
from profiledb.studies.trends.series_lines import MAIN, RECENT

_VERDICTS = {"worse": "Worse", "better": "Better", "same": "No change"}
COLUMNS = (
    Col("series", "Runs", width=270, click=True, help="Name, ranks, GPU. A click opens the newest run."),
    Col("kind", "What", width=84, help="By the limits of warpdeck check --run"),
    Col(
        "measure", "Measure", width=150, help="What changed; step time where nothing did. Mean per step over the ranks"
    ),
    Col("change", "Change", width=84, help="Newest run against the median of those before"),
    Col("newest", "Newest", width=84, help="Of the newest run"),
    Col("spark", "Over runs", kind="line", width=130, help=f"Of the last {RECENT} runs"),
    Col("straggler", "Straggler", kind="count", width=80, help="Rank that holds up the others in the newest run"),
    Col("runs", "Count", kind="count", width=60),
    Col("last", "Newest run", width=104),
)


def draw_runs() -> None:
    """Draw the table, and open the run of a clicked row; nothing without a run that has been worked out."""
    series = run_gate.list_series(session.run_lines())
    if not series:
        return
    st.subheader("Runs on several GPUs", anchor=False)
    chosen = tables.draw_table(build_frame(series), COLUMNS, key="trends-runs", download="runs.csv", select=True)
    if chosen is not None:
        newest = series[chosen].lines[-1].run.reports[0]
        navigation.to(page_list.get_script("run"), {session.PARAMETER: newest})


def build_frame(series: Sequence[RunSeries]) -> pd.DataFrame:
    """Return one row per series of runs."""
    return pd.DataFrame([_make_row(one) for one in series])


def _make_row(one: RunSeries) -> dict[str, Any]:
    last, judged = one.lines[-1], one.leading
    measure = judged.measure if judged else RUN_MEASURES[MAIN]
    values = one.list_values(measure.name)
    share = (judged.after - judged.before) / judged.before if judged and judged.before else None
    return {
        "series": fmt.visible(one.name), "measure": measure.title,
        "spark": values[-RECENT:] if len(values) >= LEAST_SPARK else None,
        "newest": format_value(measure, values[-1]) if values else fmt.MISSING, "change": format_share(share),
        "kind": _VERDICTS[judged.verdict] if judged else "First run", "straggler": last.straggler,
        "runs": len(one.lines), "last": f"{pd.Timestamp(last.run.begin_ns or 0):%Y-%m-%d}",
    }  # fmt: skip
