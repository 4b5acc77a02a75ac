"""``python -m profiledb scaling REPORT...``: steps, efficiency and waits of runs on several GPUs."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from profiledb import analysis, scaling, scaling_family, scaling_nccl, scaling_rows, scaling_words, words
from profiledb.analysis import Column
from profiledb.errors import AnalysisError
from profiledb.library import Library
from profiledb.scaling import Run, RunAnalysis

_SHORT = {
    "run": "run", "scaling": "scaling", "ranks": "ranks", "step_ns": "step", "compute_ns": "compute",
    "exposed_ns": "exposed", "copy_ns": "copies", "idle_ns": "idle", "speedup": "speed-up",
    "efficiency_pct": "efficiency",
}  # fmt: skip


def run(library: Library, arguments: argparse.Namespace) -> None:
    """Prints the rows of the runs that the named reports are of.

    Raises:
        AnalysisError: a report is not of Nsight Systems, or none of them tells anything.
    """
    reports = list({one.id: one for one in map(library.find, arguments.reports)}.values())
    for report in reports:
        if report.kind != "nsys":
            raise AnalysisError(f"{report.name} is not a report of Nsight Systems.", hint="scaling takes those.")

    def answers(report_id: str) -> RunAnalysis:
        return lambda name, **params: analysis.run(library, report_id, name, params)

    found, left_out = scaling.gather([scaling_family.named(library, one) for one in reports], answers)
    if not found:
        raise AnalysisError(" ".join(left_out), hint="Capture with: nsys profile --trace=cuda,nvtx")
    rows = scaling_rows.runs(found, arguments.scaling)
    if arguments.format == "csv":
        print(_formatted(rows, scaling_rows.RUNS).to_csv(index=False, lineterminator="\n"), end="")
    elif arguments.format == "json":
        print(json.dumps(_everything(found, rows, left_out), indent=1))
    else:
        print("\n".join(_lines(found, rows, left_out)))


def _everything(found: Sequence[Run], rows: pd.DataFrame, left_out: list[str]) -> dict[str, Any]:
    return {
        "runs": _records(rows),
        "nccl": {one.name: _records(scaling_nccl.operations(one)) for one in found},
        "waits": {one.name: _records(scaling_nccl.waits(one)) for one in found},
        "notes": _notes(found, left_out),
    }


def _records(frame: pd.DataFrame) -> Any:
    return json.loads(frame.to_json(orient="records", double_precision=15))


def _notes(found: Sequence[Run], left_out: list[str]) -> list[str]:
    notes = [*scaling_words.missing(found), *left_out]
    return [*notes, scaling_words.SIZES] if scaling_nccl.unknown_bytes(found) else notes


def _lines(found: Sequence[Run], rows: pd.DataFrame, left_out: list[str]) -> list[str]:
    """What a person reads: the sentence, a line a run, a line an operation, who waits."""
    said = scaling_words.efficiency(rows) or scaling_words.split(found[-1])
    table = [list(_SHORT.values())] + [[_cell(row[name], name) for name in _SHORT] for _, row in rows.iterrows()]
    lines = [said, "", *_aligned(table)]
    for one in found:
        for _, row in scaling_nccl.operations(one).iterrows():
            bus = f", {row['busbw_gb_per_s']:.1f} GB/s on the bus" if pd.notna(row["busbw_gb_per_s"]) else ""
            mean = f"{row['count']} a rank, {words.duration(row['mean_ns'])} each with waits"
            lines.append(f"{one.name}: {row['operation']}, {mean}{bus}")
        lines.append(scaling_words.skew(one, scaling_nccl.waits(one)))
    return [words.visible(line) if line else line for line in [*lines, *_notes(found, left_out)]]


def _cell(value: Any, name: str) -> str:
    if pd.isna(value):
        return "-"
    if name.endswith("_ns"):
        return words.duration(value)
    if name == "speedup":
        return f"{value:.2f}"
    return words.percent(value) if name == "efficiency_pct" else str(value)


def _aligned(table: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ] + [""]


def _formatted(rows: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    shown = rows.copy()
    for column in columns:
        if column.format:
            values = [None if pd.isna(value) else format(float(value), column.format) for value in rows[column.name]]
            shown[column.name] = pd.Series(values, index=rows.index, dtype="object")
    return shown
