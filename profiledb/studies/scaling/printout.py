"""The output of the command about runs on several GPUs."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.query import analysis, captures
from profiledb.studies import row_text
from profiledb.studies.scaling import family, nccl, runs, sentences
from profiledb.studies.scaling import rows as scaling_rows
from profiledb.studies.scaling.runs import Run, RunAnalysis

_SHORT = {
    "run": "run", "scaling": "scaling", "ranks": "ranks", "step_ns": "step", "compute_ns": "compute",
    "exposed_ns": "exposed", "copy_ns": "copies", "idle_ns": "idle", "speedup": "speed-up",
    "efficiency_pct": "efficiency",
}  # fmt: skip


def format_runs(library: Library, names: Sequence[str], form: str, assumed: str) -> str:
    """Return the rows of the runs that contain the named reports, as table, csv or json.

    Raises:
        AnalysisError: a report is not of Nsight Systems, or none has usable data.
    """
    reports = list({chosen.id: chosen for chosen in map(library.find, names)}.values())
    for report in reports:
        if TIMELINE not in report.subjects:
            raise AnalysisError(
                f"{report.name} has no timeline.",
                hint="Scaling takes Systems reports and traces of PyTorch.",
            )

    def answers(report_id: str) -> RunAnalysis:
        return lambda name, **params: analysis.run(library, report_id, name, params)

    gathered, left_out = runs.gather_runs(
        family.join_overlapping([family.read_named(library, chosen) for chosen in reports]), answers
    )
    if not gathered:
        raise AnalysisError(" ".join(left_out), hint=f"Capture with: {captures.PROFILE}")
    rows = scaling_rows.run_rows(gathered, assumed)
    if form == "csv":
        return row_text.format_csv(rows, scaling_rows.RUNS).rstrip("\n")
    if form == "json":
        return json.dumps(_build_content(gathered, rows, left_out, assumed), indent=1)
    return "\n".join(_format_lines(gathered, rows, left_out, assumed))


def _build_content(gathered: Sequence[Run], rows: pd.DataFrame, left_out: list[str], assumed: str) -> dict[str, Any]:
    return {
        "runs": _make_records(rows),
        "nccl": {run.name: _make_records(nccl.build_operations(run)) for run in gathered},
        "sizes": {run.name: _make_records(nccl.build_sizes(run)) for run in gathered},
        "waits": {run.name: _make_records(nccl.wait_rows(run)) for run in gathered},
        "notes": _list_notes(gathered, left_out, assumed),
    }


def _make_records(frame: pd.DataFrame) -> Any:
    return json.loads(frame.to_json(orient="records", double_precision=15))


def _list_notes(gathered: Sequence[Run], left_out: list[str], assumed: str) -> list[str]:
    notes = [*sentences.state_gaps(gathered), *sentences.state_kinds(gathered, assumed), *left_out]
    return [*notes, sentences.SIZES] if nccl.lacks_sizes(gathered) else notes


def _format_lines(gathered: Sequence[Run], rows: pd.DataFrame, left_out: list[str], assumed: str) -> list[str]:
    """Return the lines of the table: the sentence, a line per run, a line per operation, who waits."""
    sentence = sentences.state_efficiency(rows) or sentences.state_parts(gathered[-1])
    table = [list(_SHORT.values())] + [[_format_cell(row[name], name) for name in _SHORT] for _, row in rows.iterrows()]
    lines = [sentence, "", *_align_table(table)]
    for run in gathered:
        for _, row in nccl.build_operations(run).iterrows():
            bus = f", {row['busbw_gb_per_s']:.1f} GB/s on the bus" if pd.notna(row["busbw_gb_per_s"]) else ""
            mean = f"{row['count']} per rank, {words.duration(row['mean_ns'])} each, waits included"
            lines.append(f"{run.name}: {row['operation']}, {mean}{bus}")
        lines.append(sentences.state_waits(run, nccl.wait_rows(run)))
    return [words.visible(line) if line else line for line in [*lines, *_list_notes(gathered, left_out, assumed)]]


def _format_cell(value: Any, name: str) -> str:
    if pd.isna(value):
        return "-"
    if name.endswith("_ns"):
        return words.duration(value)
    if name == "speedup":
        return f"{value:.2f}"
    return words.percent(value) if name == "efficiency_pct" else str(value)


def _align_table(table: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ] + [""]
