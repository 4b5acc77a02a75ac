"""Recipes over a run against those of the installed nsys: every table, cell by cell."""

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies import run_lookup
from profiledb.studies.runs import recipes
from profiledb.studies.runs.run_list import Run
from profiledb.studies.trends import summary_refresh
from tests.conftest import CORPUS, SAMPLES, ingest_files
from tests.support import recipe_oracle
from tests.support.page_reports import empty

RUNS = {
    "ddp": [(f"ddp_weak_4_rank{rank}", SAMPLES / "ddp" / f"ddp_weak_4_rank{rank}.sqlite") for rank in range(4)],
    "mixed": [
        (f"mixed_rank{rank}", SAMPLES / f"{name}.sqlite")
        for rank, name in enumerate(("idle_host_bound", "dataloader_starved", "host_python"))
    ],
    "corpus": [
        (f"corpus_rank{rank}", CORPUS / name)
        for rank, name in enumerate(("mpi_h100.nsys-rep", "openmp_offload_t4.nsys-rep", "streams_4090.nsys-rep"))
    ],
}
"""Reports of each run and the names under which they are its ranks. All ranks of the samples have much of the same."""
SILENT = {
    "ddp": {
        "cuda_memcpy_async",
        "cuda_memcpy_sync",
        "cuda_memset_sync",
        "gpu_gaps",
        "gpu_time_util",
        "mpi_sum",
        "osrt_sum",
    },
    "mixed": {"cuda_memcpy_sync", "cuda_memset_sync", "gpu_gaps", "mpi_sum", "nccl_gpu_proj_sum", "nccl_sum"},
    "corpus": {"cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "gpu_gaps", "mpi_sum", "nccl_sum"},
}
"""Recipes for which no rank has data."""
DELIBERATE = {"nvtx_gpu_proj_trace": "newer versions, and reports without ranges, have no row for work outside ranges"}


def fill(name: str, folder: Path) -> tuple[Library, Run]:
    """Return the library and the run of the reports of a case; ``reports`` has them as recipes read them."""
    (folder / "inbox").mkdir()
    ranks = RUNS[name]
    for rank, source in ranks:
        shutil.copy(source, folder / "inbox" / f"{rank}{source.suffix}")
    ingest_files(folder, list((folder / "inbox").iterdir()))
    if name == "corpus":
        shutil.copytree(folder / "inbox", folder / "reports")
    else:
        recipe_oracle.place_exports(ranks, folder / "reports")
    library = Library(folder / "library")
    summary_refresh.refresh(library)
    (run, *_) = run_lookup.list_runs(library)
    if name == "corpus":  # captures of three days, so no run by themselves
        ids = enumerate(report.id for report in library.list())
        run = replace(run, ranks=tuple(replace(run.ranks[0], report_id=one, rank=rank) for rank, one in ids))
    assert len(run.reports) == len(ranks)
    return library, run


@pytest.mark.nsight
@pytest.mark.timeout(900)
@pytest.mark.slow("runs every recipe of nsys")
@pytest.mark.parametrize("name", RUNS)
def test_recipes_are_those_of_nsys(name: str, nsys: Path, tmp_path: Path) -> None:
    if name == "corpus" and not CORPUS.exists():
        pytest.skip("needs ../shared/corpus")
    library, run = fill(name, tmp_path)
    silent, differ = set(), {}
    for recipe in recipes.RECIPES:
        if name == "corpus" and recipe in ("nccl_gpu_proj_sum", "nvtx_gpu_proj_sum"):
            continue  # nsys fails on reports without copies
        theirs = recipe_oracle.run_recipe(nsys, recipe, tmp_path / "reports", tmp_path)
        if not theirs:
            silent.add(recipe)
        for table, rows in theirs.items():
            ours = recipes.run_recipe(library, run, recipe, by_rank=table == "rank_stats")
            if differences := list(recipe_oracle.list_differences(rows, ours)):
                differ[recipe] = f"{table}: {differences}"
    assert silent == SILENT[name]
    assert differ.keys() == DELIBERATE.keys(), differ


def test_a_summary_over_ranks_by_hand() -> None:
    """Two ranks: durations 1, 3 and 10 ns; the pooled deviation is that of all three."""
    ranks = pd.DataFrame(
        {
            "Name": ["a", "a"], "Time": [100.0, 100.0], "Total Time": [4, 10], "Instances": [2, 1], "Avg": [2.0, 10.0],
            "Q1": [2.0, 10.0], "Med": [2.0, 10.0], "Q3": [2.0, 10.0], "Min": [1, 10], "Max": [3, 10],
            "StdDev": [2**0.5, 0.0], "File": ["rank0", "rank1"],
        }
    )  # fmt: skip
    (row,) = recipes.aggregate_statistics(ranks, recipes.STATISTICS["cuda_gpu_kern_sum"]).to_dict("records")
    assert row == {
        "Name": "a", "Time": 100.0, "Total Time": 14, "Instances": 3, "Avg": 4.7, "Q1": 2.0, "Med": 6.0, "Q3": 10.0,
        "Min": 1, "Max": 10, "StdDev": 4.7, "Min File": "rank0", "Max File": "rank1",
    }  # fmt: skip


def test_mpi_calls_by_hand(tmp_path: Path) -> None:
    """Calls of 2, 4 and 10 ns count; one that takes no time and one without an end do not."""
    library = Library(tmp_path / "library")
    with store.create(tmp_path / "mpi.duckdb", ready=empty()) as made:
        made.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 1000, 1000)")
        made.execute("INSERT INTO string (string_id, value) VALUES (7, 'MPI_Send')")
        for call, end in enumerate((102, 104, 110, 100, None)):
            made.execute(
                "INSERT INTO mpi_call (call_id, kind, start_ns, end_ns, name_id) VALUES (?, 'p2p', 100, ?, 7)",
                [call, end],
            )
    library.publish(tmp_path / "mpi.duckdb", Manifest("1" * 16, SCHEMA_VERSION, "mpi", "nsys", "1" * 16, 1))
    (row,) = analysis.run(library, "1" * 16, recipes.DURATIONS, {"of": "mpi_calls"}).to_dict("records")
    assert (row["name"], row["count"], row["total"], row["q1"], row["median"], row["q3"]) == (
        "MPI_Send",
        3,
        16,
        3,
        4,
        7,
    )
