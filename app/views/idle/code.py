"""The code that the CPU ran while a GPU was idle, for reports with CPU or Python samples."""

import pandas as pd

from app import session
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable


def _count_samples(rows: pd.DataFrame) -> str:
    stacks = rows["source"].iloc[0]
    return (
        f"{fmt.count(rows['samples'].sum())} {stacks} samples of the threads that launch, taken in non-CUDA code while"
        f" the GPU was idle.{' Only a running thread is sampled.' if stacks == 'CPU' else ''}"
    )


CODE = AnalysisTable(
    "idle_code",
    "CPU code during gaps",
    "No sample lies in the non-CUDA code of these gaps.",
    note=_count_samples,
    few=True,
)


def draw_code(report_id: str) -> None:
    """Draw the section if any GPU was idle. Raises NotCapturedError if the report has no samples."""
    rows = session.run(report_id, "idle_code")
    if len(session.run(report_id, "idle_reasons")):
        CODE.draw_rows(rows)
