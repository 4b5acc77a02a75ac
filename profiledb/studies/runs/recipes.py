"""The recipes of nsys over a run: summaries by name over all ranks, and rows of each rank.

Columns and values are those that ``nsys recipe`` of 2023.4 writes. Its statistics over ranks are not those of all
events: the quartiles are the extremes of the ranks' quartiles, and the median is the median of the ranks' medians.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import analysis, header
from profiledb.query.header import Column
from profiledb.report.manifest import Manifest
from profiledb.studies.runs import pace, utilization_map
from profiledb.studies.runs.pace import PACE
from profiledb.studies.runs.run_list import Run
from profiledb.studies.runs.utilization_map import MAPS

DURATIONS = "durations_by_name"
FILE = "File"
"""Column with the name of a rank's report without its suffix."""

MEANINGS = {
    FILE: "report of the rank",
    "Time": "share of the sum of the listed totals",
    "Q1": "least of the lower quartiles of the ranks",
    "Med": "median of the medians of the ranks",
    "Q3": "greatest of the upper quartiles of the ranks",
    "StdDev": "sample deviation of all events",
    "Std (approx)": "mean of the deviations of the ranks",
    "Min File": "report with the smallest",
    "Max File": "report with the largest",
}
"""Meanings of columns whose names do not tell them."""
_UNIT = re.compile(r" \((ns|%|MB|B)\)$")
_BYTES_PER_MB = 1e6


@dataclass(frozen=True)
class Statistics:
    """A summary as ``nsys stats`` makes it of each rank: the deviation over ranks is pooled.

    Args:
        of: events, a value of the parameter ``of`` of the analysis ``durations_by_name``.
        name: column of names.
        count: column of counts.
        is_time: times have a share and are rounded to a decimal place in each rank; sizes have neither.
    """

    of: str
    name: str
    count: str
    is_time: bool = True


STATISTICS: Mapping[str, Statistics] = {
    "cuda_api_sum": Statistics("calls", "Name", "Num Calls"),
    "cuda_gpu_kern_sum": Statistics("kernels", "Name", "Instances"),
    "cuda_gpu_mem_size_sum": Statistics("copy_sizes", "Operation", "Count", is_time=False),
    "cuda_gpu_mem_time_sum": Statistics("copy_times", "Operation", "Count"),
    "osrt_sum": Statistics("os_calls", "Name", "Num Calls"),
}
DESCRIPTIONS: Mapping[str, str] = {
    "mpi_sum": "mpi_calls",
    "nccl_gpu_proj_sum": "nccl_projections",
    "nccl_sum": "nccl_ranges",
    "nvtx_gpu_proj_sum": "range_projections",
    "nvtx_sum": "ranges",
}
"""Summaries as pandas describes durations, and their events: the deviation over ranks is the mean of the ranks'."""
ROWS = (
    *("cuda_api_sync", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "gpu_gaps", "gpu_time_util"),
    "nvtx_gpu_proj_trace",
)
"""Recipes that list the rows of the analysis of their name for each rank."""
RECIPES = tuple(sorted((*STATISTICS, *DESCRIPTIONS, *ROWS, *PACE, *MAPS)))


def run_recipe(
    library: Library,
    run: Run,
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    by_rank: bool = False,
    without: Run | None = None,
) -> pd.DataFrame:
    """Return the rows of a recipe over the reports of a run; of any other analysis the rows of each rank.

    Each report is asked in turn, so the time grows with their number. Reports without such events have no rows.

    Args:
        params: selection, and parameters of an analysis that is no summary; a pace recipe needs ``name``, the short
            name of a kernel or the text of a range, and a map takes ``bins``, their number.
        by_rank: return one row per rank and name of a summary, not one per name.
        without: subtract the numbers of a summary of this run.

    Raises:
        AnalysisError: neither a recipe nor an analysis has this name; a parameter is missing or no choice; or
            ``without`` stands beside a recipe that is no summary.
    """
    chosen = dict(params or {})
    if without:
        if name not in STATISTICS and name not in DESCRIPTIONS:
            raise AnalysisError(f"Only summaries can be subtracted: {', '.join((*STATISTICS, *DESCRIPTIONS))}.")
        rows, other = (run_recipe(library, one, name, chosen, by_rank=by_rank) for one in (run, without))
        return subtract_summary(rows, other)
    if name in PACE:
        return _list_pace(library, run, PACE[name], chosen)
    if name in MAPS:
        return _list_map(library, run, name, chosen)

    def ask(of: str) -> Iterator[tuple[str, pd.DataFrame]]:
        return _ask_each(library, run, DURATIONS, chosen | {"of": of})

    if name in STATISTICS:
        recipe = STATISTICS[name]
        ranks = _join(_list_statistics(rows, recipe).assign(**{FILE: file}) for file, rows in ask(recipe.of))
        return ranks if by_rank else aggregate_statistics(ranks, recipe)
    if name in DESCRIPTIONS:
        ranks = _join(
            _describe(rows).assign(Rank=rank, File=file) for rank, (file, rows) in enumerate(ask(DESCRIPTIONS[name]))
        )
        return ranks if by_rank else aggregate_descriptions(ranks)
    return _join(_strip_units(rows).assign(**{FILE: file}) for file, rows in _ask_each(library, run, name, chosen))


def _ask_each(library: Library, run: Run, name: str, params: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the file name of each rank's report that has rows, and these, in the order of file names."""
    for report in _list_reports(library, run):
        rows = analysis.rows_or_none(analysis.run, library, report.id, name, params)
        if not rows.empty:
            yield _name_file(report), rows


def _list_reports(library: Library, run: Run) -> list[Manifest]:
    """Return the reports of a run in the order of their file names."""
    return sorted(library.catalog.listing.get(run.reports).values(), key=lambda report: (_name_file(report), report.id))


def _name_file(report: Manifest) -> str:
    return PurePath(report.name).stem


def _list_pace(library: Library, run: Run, of: str, params: dict[str, Any]) -> pd.DataFrame:
    if not params.get("name"):
        raise AnalysisError(
            "A pace recipe needs the parameter name: the short name of a kernel, or the text of a range."
        )
    with_rows = []
    for report in _list_reports(library, run):
        rows = analysis.rows_or_none(analysis.run, library, report.id, pace.OCCURRENCES, params | {"of": of})
        if not rows.empty:
            with_rows.append((report, rows))
    shifts = _measure_shifts(library, [report for report, _ in with_rows])
    return pace.list_iterations([pace.Rank(_name_file(report), shifts[report.id], rows) for report, rows in with_rows])


def _list_map(library: Library, run: Run, name: str, params: dict[str, Any]) -> pd.DataFrame:
    """Return the bins of each rank; the reports of a run share the bins."""
    bins = _read_bins(params.pop("bins", utilization_map.BINS))
    reports = [report for report in _list_reports(library, run) if report.duration_ns]
    if not reports:
        return pd.DataFrame()
    shifts = _measure_shifts(library, reports)
    sessions = {one.id: utilization_map.Session(shifts[one.id], one.duration_ns or 0) for one in reports}
    bin_ns = utilization_map.measure_bin(list(sessions.values()), bins)

    def ask(report: Manifest, name: str, /, **further: Any) -> pd.DataFrame:
        cut = {"bin_ns": bin_ns, "shift_ns": sessions[report.id].shift_ns}
        return analysis.rows_or_none(analysis.run, library, report.id, name, params | cut | further)

    frames = []
    for report in reports:
        session = sessions[report.id]
        if MAPS[name].analysis == utilization_map.METRIC_USE:
            means = ask(report, utilization_map.METRIC_USE, stop_ns=session.duration_ns)
            rows = utilization_map.list_metrics(means, bin_ns) if len(means) else means
        else:
            used = {column: ask(report, utilization_map.KERNEL_USE, of=of) for column, of in MAPS[name].columns.items()}
            lacks = any(some.empty for column, some in used.items() if column != "Compute")
            rows = pd.DataFrame() if lacks else utilization_map.list_bins(used, session, bin_ns, bins)
        if len(rows):
            frames.append(rows.assign(**{FILE: _name_file(report)}))
    return _join(iter(frames))


def _read_bins(value: Any) -> int:
    if str(value).isdecimal() and 1 <= int(value) <= utilization_map.MOST_BINS:
        return int(value)
    raise AnalysisError(f"bins is a number from 1 to {utilization_map.MOST_BINS}.")


def _measure_shifts(library: Library, reports: Sequence[Manifest]) -> dict[str, int]:
    """Return by report how long after the first session its own began, ns, to a microsecond; 0 where it is unknown."""
    facts = {report.id: analysis.run(library, report.id, "report_facts") for report in reports}
    began = {one: int(rows["session_ns"].iloc[0]) for one, rows in facts.items() if rows["session_ns"].notna().all()}
    first = min(began.values(), default=0)
    return {report.id: began.get(report.id, first) - first for report in reports}


def _join(frames: Iterator[pd.DataFrame]) -> pd.DataFrame:
    tables = list(frames)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _list_statistics(rows: pd.DataFrame, recipe: Statistics) -> pd.DataFrame:
    """Return the summary of a rank with the columns of the recipe."""
    total = "Total Time" if recipe.is_time else "Total"
    frame = pd.DataFrame({recipe.name: rows["name"]})
    if recipe.is_time:
        frame["Time"] = _round(100 * rows["total"] / rows["total"].sum())
    frame[total] = rows["total"]
    frame[recipe.count] = rows["count"]
    frame["Avg"] = rows["mean"]
    frame["Q1"] = rows["lower_quartile"]
    frame["Med"] = rows["median"]
    frame["Q3"] = rows["upper_quartile"]
    frame["Min"] = rows["min"]
    frame["Max"] = rows["max"]
    frame["StdDev"] = rows["deviation"].fillna(0)
    if recipe.is_time:
        for column in ("Avg", "Med", "StdDev"):
            frame[column] = _round(frame[column])
    return frame


def _round(values: "pd.Series[float]") -> "pd.Series[float]":
    """Return values with a decimal place, ties away from zero as in SQLite; pandas rounds ties to even."""
    return (values.astype(float) * 10 + 0.5) // 1 / 10


def aggregate_statistics(ranks: pd.DataFrame, recipe: Statistics) -> pd.DataFrame:
    """Return one row per name from the summaries of the ranks (``Statistics``), the largest total first."""
    if ranks.empty:
        return ranks
    total = "Total Time" if recipe.is_time else "Total"
    groups = ranks.groupby(recipe.name, sort=True)
    frame = pd.DataFrame({total: groups[total].sum(), recipe.count: groups[recipe.count].sum()})
    frame["Avg"] = frame[total] / frame[recipe.count]
    for column, how in (("Q1", "min"), ("Med", "median"), ("Q3", "max"), ("Min", "min"), ("Max", "max")):
        frame[column] = groups[column].agg(how)
    frame["StdDev"] = _pool(ranks, frame, recipe)
    for column in ("Min", "Max"):
        extreme = ranks[ranks[column] == ranks[recipe.name].map(frame[column])]
        frame[f"{column} File"] = extreme.groupby(recipe.name)[FILE].agg(", ".join)
    if recipe.is_time:
        frame.insert(0, "Time", 100 * frame[total] / frame[total].sum())
    return frame.round(1).sort_values(total, ascending=False, kind="stable").reset_index()


def _pool(ranks: pd.DataFrame, frame: pd.DataFrame, recipe: Statistics) -> "pd.Series[float]":
    """Return the sample deviation of all events from counts, means and deviations of the ranks."""
    count, apart = ranks[recipe.count], ranks["Avg"] - ranks[recipe.name].map(frame["Avg"])
    squares = (count - 1) * ranks["StdDev"] ** 2 + count * apart**2
    sums = squares.astype(float).groupby(ranks[recipe.name]).sum()
    events = frame[recipe.count].astype(float)
    return (sums / (events - 1)).pow(0.5).where(events > 1, 0.0)


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of a rank as pandas describes durations."""
    columns = {
        "name": "Text", "count": "Count", "mean": "Mean", "deviation": "Std", "min": "Min", "q1": "Q1",
        "median": "Median", "q3": "Q3", "max": "Max", "total": "Sum",
    }  # fmt: skip
    return rows.rename(columns=columns)[list(columns.values())].sort_values("Text", kind="stable")


def aggregate_descriptions(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per text from the summaries of the ranks (``DESCRIPTIONS``), by text."""
    if ranks.empty:
        return ranks
    groups = ranks.groupby("Text", sort=True)
    frame = pd.DataFrame(
        {
            "Count": groups["Count"].sum(),
            "Mean": groups["Sum"].sum() / groups["Count"].sum(),
            "Std (approx)": groups["Std"].mean(),
            "Min": groups["Min"].min(),
            "Q1 (approx)": groups["Q1"].min(),
            "Median (approx)": groups["Median"].median(),
            "Q3 (approx)": groups["Q3"].max(),
            "Max": groups["Max"].max(),
            "Sum": groups["Sum"].sum(),
        }
    )
    return frame.round(1).reset_index()


def subtract_summary(rows: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a summary less those of the same summary of another run, as the recipe ``diff`` does.

    Rows meet by name, and those of a rank with the rank that has the same place in the order of file names. A name that
    the other run lacks has no numbers; a name that only the other one has no row.

    Raises:
        AnalysisError: the runs differ in the number of ranks with such events.
    """
    keys = [rows.columns[0]] if len(rows) else []
    if FILE in rows and len(rows):
        files, others = (sorted(frame[FILE].unique()) if len(frame) else [] for frame in (rows, other))
        if len(files) != len(others):
            raise AnalysisError(f"{len(files)} ranks of one run have such events, {len(others)} of the other.")
        other = other.assign(**{FILE: other[FILE].map(dict(zip(others, files, strict=True)))})
        keys.append(FILE)
    if other.empty or rows.empty:
        return rows.iloc[:0]
    left, right = (
        frame.assign(_turn=frame.groupby(keys).cumcount()).set_index([*keys, "_turn"]).select_dtypes("number")
        for frame in (rows, other)
    )
    return (left - right.reindex(left.index)).reset_index().drop(columns="_turn")


def _strip_units(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in the base units and under the names of a recipe: bytes instead of MB, ``Duration`` for ns."""
    names = {}
    for column in rows.columns:
        if match := _UNIT.search(column):
            names[column] = column[: match.start()]
            if match[1] == "MB":
                rows[column] = (rows[column] * _BYTES_PER_MB).round().astype("Int64")
    return rows.rename(columns=names)


def list_columns(name: str, rows: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of ``run_recipe``'s rows with their units and meanings."""
    if name in PACE or name in MAPS:
        meanings = MEANINGS | (pace.MEANINGS if name in PACE else utilization_map.MEANINGS)
        unit = dict.fromkeys(MAPS[name].columns if name in MAPS else (), "%") | dict.fromkeys(
            ("Rank", "Iteration", "PID", "Device ID", "GPU"), "id"
        )
        return tuple(
            Column(one, "text" if one == FILE else unit.get(one, "ns"), "", meanings[one]) for one in rows.columns
        )
    if name not in STATISTICS and name not in DESCRIPTIONS:
        known = {_UNIT.sub("", column.name): column for column in header.get(name).columns}
        unit = {one: "bytes" if column.unit == "MB" else column.unit for one, column in known.items()}
        listed = (Column(one, unit[one], known[one].format, known[one].help) for one in rows.columns if one in known)
        return (*listed, Column(FILE, "text", "", MEANINGS[FILE]))
    value = "bytes" if name in STATISTICS and not STATISTICS[name].is_time else "ns"
    units = {"Time": "%", "Rank": "id"} | dict.fromkeys(("Num Calls", "Instances", "Count"), "count")
    return tuple(
        Column(one, units.get(one, value if is_numeric_dtype(rows[one]) else "text"), "", MEANINGS.get(one, one))
        for one in rows.columns
    )
