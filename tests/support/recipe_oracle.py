"""Run the recipes of the installed nsys on reports, and read the tables that they write."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PACE = ("start", "end", "duration", "delta", "duration_accum", "delta_accum")
"""Columns of which the pace recipes write a table each, a column per rank and a row per iteration."""
TABLES = ("all_stats", "rank_stats", "analysis", "trace", *(f"pace_{column}" for column in PACE))
"""Files in which recipes write their tables."""
_PLACES = ("", "root/usr/lib/*/nsight-systems/", "lib/*/nsight-systems/")
"""Where the installed package lies, seen from the folder of the program or from its parent."""
_EXPORTED = {
    "StringIds": "*",
    "ANALYSIS_DETAILS": "*",
    "TARGET_INFO_SESSION_START_TIME": "*",
    "NVTX_EVENTS": 'text, start, "end", textId, globalTid, endGlobalTid, domainId, eventType',
    "CUPTI_ACTIVITY_KIND_RUNTIME": "*",
    "CUPTI_ACTIVITY_KIND_KERNEL": "*",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "*",
    "CUPTI_ACTIVITY_KIND_MEMSET": "*",
}


def find_recipes(nsys: Path) -> Path:
    """Return the folder of the package with the recipes of an installed nsys."""
    folders = (
        one.glob(f"{where}target-linux-*/python/packages/nsys_recipe")
        for one in nsys.resolve().parents[:2]
        for where in _PLACES
    )
    return next(found for folder in folders for found in folder)


def place_exports(exports: Sequence[tuple[str, Path]], folder: Path) -> None:
    """Place SQLite exports under names of reports, with the Parquet tables of which recipes read some.

    The recipes take an export for that of a report if it is newer; the reports themselves are empty here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, export in exports:
        report = folder / f"{name}.nsys-rep"
        report.touch()
        os.utime(report, (0, 0))
        shutil.copy(export, folder / f"{name}.sqlite")
        tables = folder / f"{name}_pqtdir"
        tables.mkdir()
        with closing(sqlite3.connect(f"{export.as_uri()}?immutable=1", uri=True)) as db:
            db.text_factory = lambda text: text.decode("utf-8", "replace")
            present = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in present & _EXPORTED.keys():
                pd.read_sql(f"SELECT {_EXPORTED[table]} FROM {table}", db).to_parquet(tables / f"{table}.parquet")


def run_recipe(nsys: Path, recipe: str, reports: Path, folder: Path, *options: str) -> dict[str, pd.DataFrame]:
    """Return the tables that a recipe writes about the reports of a folder; {} if it finds no data."""
    asked = ["--input", str(reports), "--mode", "none", *options, "--output", str(folder / recipe)]
    return _run(nsys, recipe, folder, folder / recipe, asked)


def run_diff(nsys: Path, folder: Path, first: Path, second: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of the recipe ``diff`` about two output folders of a recipe."""
    return _run(nsys, "diff", folder, folder / f"{first.name}-diff-1", ["--input", str(first), str(second)])


def _run(nsys: Path, recipe: str, folder: Path, out: Path, options: Sequence[str]) -> dict[str, pd.DataFrame]:
    package = find_recipes(nsys)
    copy = folder / "packages" / package.name
    if not copy.exists():
        shutil.copytree(package, copy)
        (copy / "third_party").mkdir(exist_ok=True)  # distributions leave out its notebooks' libraries
    done = subprocess.run(
        [sys.executable, "-m", "nsys_recipe", recipe, *options],
        env={**os.environ, "NSYS_DIR": str(package.parents[3]), "PYTHONPATH": str(copy.parent)},
        capture_output=True, text=True, timeout=200, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {name: _read(out / f"{name}.parquet") for name in TABLES if (out / f"{name}.parquet").exists()}


def join_pace(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of a pace recipe as one: a row per rank and iteration."""
    long = {
        column: tables[f"pace_{column}"].rename_axis("Iteration").rename(columns=int).unstack().dropna()
        for column in PACE
    }
    return pd.DataFrame(long).rename_axis(["Rank", "Iteration"]).reset_index()


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    return frame if frame.index.name is None else frame.reset_index()


def list_differences(theirs: pd.DataFrame, ours: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each column whose cells differ, rows in the order of both tables."""
    if list(theirs.columns) != list(ours.columns):
        yield f"columns {list(theirs.columns)}, ours {list(ours.columns)}"
        return
    if len(theirs) != len(ours):
        yield f"{len(theirs)} rows, ours {len(ours)}"
        return
    order = [theirs.columns[0], *(["File"] if "File" in theirs else [])]
    rows, own = (frame.sort_values(order, kind="stable").reset_index(drop=True) for frame in (theirs, ours))
    for column in theirs.columns:
        left, right = rows[column], own[column]
        if pd.api.types.is_numeric_dtype(left) and pd.api.types.is_numeric_dtype(right):
            equal = np.isclose(left.astype(float), right.astype(float), rtol=1e-12, atol=1e-6, equal_nan=True)
        else:
            equal = np.array([_text(a) == _text(b) for a, b in zip(left, right, strict=True)])
        if not equal.all():
            at = int(np.argmin(equal))
            yield f"{column}: {int((~equal).sum())} cells, first {left[at]!r}, ours {right[at]!r}"


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
