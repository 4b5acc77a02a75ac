"""Host threads: time running, waiting and blocked in calls, and which threads load data."""

from typing import Any

import pandas as pd

from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable


def describe_threads(rows: pd.DataFrame) -> list[str]:
    """Describe the launching thread with the most CUDA call time, and the threads that load data (Markdown)."""
    sentences = []
    launching = rows[(rows["role"] == "launches") & rows["running_ns"].notna()]
    if len(launching):
        row = launching.iloc[int(launching["cuda_ns"].astype(float).fillna(-1).to_numpy().argmax())]
        whole = sum(int(row[name]) for name in ("running_ns", "blocked_ns", "waiting_ns"))
        if whole:
            parts = (fmt.percent(100 * row[name] / whole) for name in ("running_ns", "blocked_ns", "waiting_ns"))
            shares = "runs {}, is blocked in calls {} and waits otherwise {}.".format(*parts)
            sentences.append(f"Of its {fmt.duration(whole)} the launching thread {_format_name(row)} {shares}")
    loading = rows[rows["role"] == "data loading"]
    if len(loading):
        names = ", ".join(_format_name(row) for _, row in loading.head(8).iterrows())
        more = f" and {fmt.count(len(loading) - 8)} more" if len(loading) > 8 else ""
        which = "one thread that launches" if len(loading) == 1 else f"{fmt.count(len(loading))} threads that launch"
        sentences.append(f"Data is loaded in {which} nothing: {names}{more}.")
    return sentences


def _format_name(row: "pd.Series[Any]") -> str:
    name = "" if pd.isna(row["name"]) else f" {fmt.plain(fmt.shortened(str(row['name']), 40))}"
    return f"{fmt.plain(str(row['thread']))}{name}"


def _explain_offcore(rows: pd.DataFrame) -> str:
    if rows["running_ns"].isna().all():
        return ""
    return (
        "Blocked in calls: off the core, inside a CUDA or OS runtime call. Waiting otherwise: off the core in no call"
        " that was traced."
    )


def _sum_wait(rows: pd.DataFrame) -> str:
    waiting = rows.loc[rows["waits"].astype(bool), "total_ns"].sum()
    return (
        f"{fmt.duration(waiting)} of {fmt.duration(rows['total_ns'].sum())} are in functions that only wait. A thread"
        " that waits for work all the time counts in full."
    )


THREADS = AnalysisTable(
    "host_threads", "Threads", "No thread did anything in this selection.", {"os_calls": {"label": "OS call count"}},
    lead=lambda rows: "\n\n".join(describe_threads(rows)), note=_explain_offcore, filled=True, few=True,
)  # fmt: skip
OS_RUNTIME = AnalysisTable(
    "osrt_threads", "OS runtime calls by thread", "No OS runtime calls in this selection.", caption=_sum_wait, few=True,
    loud=False,
)  # fmt: skip
