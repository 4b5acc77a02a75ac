"""Small tables of the Summary: CUDA calls, memory, copies and ranges, as far as the report has them."""

import pandas as pd

from app import session
from app.ui import format as fmt
from app.ui import table_columns
from app.ui.analysis_table import AnalysisTable
from profiledb.query import header
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary import memory as summary
from profiledb.studies.summary.statement import Ask

TOP = 10
COPIES = AnalysisTable("memory_copies", "Memcpy and memset")


def _count_functions(rows: pd.DataFrame) -> str:
    number = f"{fmt.counted(rows['calls'].sum(), 'call')} recorded"
    return f"{number}. Top {TOP} of {fmt.count(len(rows))} functions." if len(rows) > TOP else f"{number}."


CALLS = AnalysisTable(
    "api_calls",
    "CUDA API calls",
    columns=table_columns.choose_columns(
        "api_calls", table_columns.use("function", width=380), "total_ns", "calls", "avg_ns", "median_ns", "max_ns"
    ),
    caption=_count_functions,
    top=TOP,
    hidden=("category", "share_pct", "min_ns", "failed"),
    download="cuda_api_calls.csv",
)
PEAK = AnalysisTable(
    "tensor_peak",
    "What holds memory at the peak",
    columns=table_columns.choose_columns(
        "tensor_peak", "device", table_columns.use("name", label="Allocated by", width=380), "bytes",
        table_columns.make_bar("share_pct", width=130), "tensors", "largest_bytes",
    ),
    hidden=("part",),
)  # fmt: skip
PATHS = AnalysisTable("path_kernels", "Kernels", filled=True, hidden=("flops", "bytes", "demangled"))
_LARGEST = table_columns.choose_columns(
    "tensor_lifetimes", "device", "bytes", table_columns.use("stack", width=480),
    table_columns.use("start_ns", width=110), table_columns.use("end_ns", width=110),
)  # fmt: skip
LARGEST = AnalysisTable(
    "tensor_lifetimes",
    "Largest allocations",
    columns=_LARGEST,
    caption="No start: allocated before the capture. No end: not released in it.",
    filled=True,
    hidden=[
        one.name
        for one in header.get("tensor_lifetimes").columns
        if one.name not in {column.name for column in _LARGEST}
    ],
)


def _count_names(rows: pd.DataFrame) -> str:
    return "CPU wall time, nested ranges included." + (
        f" Top {TOP} of {fmt.count(len(rows))} names." if len(rows) > TOP else ""
    )


RANGES = AnalysisTable("range_summary", "Ranges", caption=_count_names, top=TOP, download="ranges.csv")


def draw_calls(report_id: str) -> None:
    """Draw the CUDA calls with the most time, for reports without GPU activity. Draws nothing if there are none."""
    CALLS.draw_rows(rows_or_none(session.run, report_id, CALLS.analysis))


def draw_memory(report_id: str) -> None:
    """Draw what holds memory at the peak and the largest allocations, for a memory snapshot."""
    peak = rows_or_none(session.run, report_id, PEAK.analysis, limit=TOP)
    if len(peak):
        PEAK.draw_rows(peak.assign(name=peak["name"].where(peak["part"] == "named", peak["part"].map(summary.PARTS))))
        LARGEST.draw(report_id, limit=TOP)


def draw_paths(report_id: str) -> None:
    """Draw the kernels with the most time, for a profile that has sums and no times."""
    PATHS.draw(report_id, limit=TOP)


def draw_copies(ask: Ask) -> None:
    """Draw the copies by direction. Draws nothing if there are none."""
    COPIES.draw_rows(rows_or_none(ask, COPIES.analysis))


def draw_ranges(ask: Ask) -> None:
    """Draw the ranges with the most time. Draws nothing if there are none."""
    rows = rows_or_none(ask, RANGES.analysis)
    RANGES.draw_rows(rows, without=() if len(rows) and rows["style"].nunique() > 1 else ("style",))
