"""Recipes on a run, against those of the installed nsys: every table, cell by cell."""

import re
import shutil
from dataclasses import replace
from pathlib import Path, PurePath

import pandas as pd
import pytest

from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies import run_lookup
from profiledb.studies.runs import pace, recipes, utilization_map
from profiledb.studies.runs.run_list import Run
from profiledb.studies.trends import summary_refresh
from tests.conftest import CORPUS, SAMPLES, ingest_files
from tests.support import recipe_oracle
from tests.support.page_reports import empty

RUNS_PAGE = Path(__file__).parents[2] / "docs" / "runs.md"
METRICS = ("gpu_metrics_a100.nsys-rep", "vector_add_loop_a100.nsys-rep")
RUNS = {
    **{
        case: [(f"{name}_rank{rank}", SAMPLES / "ddp" / f"{name}_rank{rank}.sqlite") for rank in range(4)]
        for case, name in (("ddp", "ddp_weak_4"), ("strong", "ddp_strong_4"))
    },
    "mixed": [
        (f"mixed_rank{rank}", SAMPLES / f"{name}.sqlite")
        for rank, name in enumerate(("idle_host_bound", "dataloader_starved", "host_python"))
    ],
    "corpus": [
        (f"corpus_rank{rank}", CORPUS / name)
        for rank, name in enumerate(("mpi_h100.nsys-rep", "openmp_offload_t4.nsys-rep", "streams_4090.nsys-rep"))
    ],
    "metrics": [(f"metrics_rank{rank}", CORPUS / name) for rank, name in enumerate(METRICS)],
}
"""Reports of each run and the names under which they are its ranks. All ranks of the samples have much of the same."""
SILENT = {
    "ddp": {
        "cuda_memcpy_async",
        "cuda_memcpy_sync",
        "cuda_memset_sync",
        "gpu_gaps",
        "gpu_metric_util_map",
        "gpu_time_util",
        "mpi_sum",
        "osrt_sum",
    },
    "mixed": {
        "cuda_memcpy_sync",
        "cuda_memset_sync",
        "gpu_gaps",
        "gpu_metric_util_map",
        "mpi_sum",
        "nccl_gpu_proj_sum",
        "nccl_gpu_time_util_map",
        "nccl_sum",
    },
    "corpus": {
        "cuda_memcpy_async",
        "cuda_memcpy_sync",
        "cuda_memset_sync",
        "gpu_gaps",
        "gpu_metric_util_map",
        "mpi_sum",
        "nccl_sum",
    },
}
"""Recipes for which no rank has data."""
UNREADABLE = ("cuda_gpu_time_util_map", "nccl_gpu_time_util_map", "nccl_gpu_proj_sum", "nvtx_gpu_proj_sum")
"""Recipes of nsys that fail on reports without copies, or whose process ids have all 64 bits."""
OUTSIDE = {"nvtx_gpu_proj_trace": "newer versions, and reports without ranges, have no row for work outside ranges"}
DAYS = {"cuda_gpu_time_util_map": "nsys takes a session within the first bin for as long as the bin"}
DELIBERATE = {"ddp": OUTSIDE, "mixed": OUTSIDE | DAYS, "corpus": OUTSIDE}
"""Reasons for which a recipe differs. The sessions of the second lie days apart, so a bin is longer than each."""


def fill(name: str, folder: Path) -> tuple[Library, Run]:
    """Return the library and the run of the reports of a case; ``reports`` has them as recipes read them."""
    (folder / "inbox").mkdir()
    ranks = RUNS[name]
    for rank, source in ranks:
        shutil.copy(source, folder / "inbox" / f"{rank}{source.suffix}")
    ingest_files(folder, list((folder / "inbox").iterdir()))
    if name in ("corpus", "metrics"):
        shutil.copytree(folder / "inbox", folder / "reports")
    else:
        recipe_oracle.place_exports(ranks, folder / "reports")
    library = Library(folder / "library")
    summary_refresh.refresh(library)
    (run, *_) = run_lookup.list_runs(library)
    if name in ("corpus", "metrics"):  # captures of several days, so no run by themselves
        ids = enumerate(report.id for report in library.list())
        run = replace(run, ranks=tuple(replace(run.ranks[0], report_id=one, rank=rank) for rank, one in ids))
    assert len(run.reports) == len(ranks)
    return library, run


@pytest.mark.nsight
def test_the_count_in_the_docs_is_that_of_the_installed_nsys(nsys: Path) -> None:
    """The table has every recipe of nsys, or the list of missing ones gives a reason."""
    theirs = {one.name for one in (recipe_oracle.find_recipes(nsys) / "recipes").iterdir() if one.name[0] not in "._"}
    ours = {*recipes.RECIPES, "diff"}
    text = RUNS_PAGE.read_text()
    section = text[text.index("## Recipes of nsys") :]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    assert {name for line in table for name in re.findall(r"`(\w+)`", line)} == ours
    count, rest = re.findall(
        r"Warpdeck has (\d+ of the \d+ recipes of [\d.]*\d)\. Missing are (.*?)\. Newer", section, re.DOTALL
    )[0]
    assert count == f"{len(ours & theirs)} of the {len(theirs)} recipes of 2023.4"
    assert set(re.findall(r"`(\w+)`", rest)) == theirs - ours


@pytest.mark.nsight
@pytest.mark.timeout(900)
@pytest.mark.slow("runs every recipe of nsys")
@pytest.mark.parametrize("name", SILENT)
def test_recipes_are_those_of_nsys(name: str, nsys: Path, tmp_path: Path) -> None:
    if name == "corpus" and not CORPUS.exists():
        pytest.skip("needs ../shared/corpus")
    library, run = fill(name, tmp_path)
    silent, differ = set(), {}
    for recipe in sorted({*recipes.RECIPES} - {*pace.PACE}):
        if name == "corpus" and recipe in UNREADABLE:
            continue
        theirs = recipe_oracle.run_recipe(nsys, recipe, tmp_path / "reports", tmp_path)
        if not theirs:
            silent.add(recipe)
        for table, rows in theirs.items():
            ours = recipes.run_recipe(library, run, recipe, by_rank=table == "rank_stats")
            if differences := list(recipe_oracle.list_differences(rows, ours)):
                differ[recipe] = f"{table}: {differences}"
    assert silent == SILENT[name]
    assert differ.keys() == DELIBERATE[name].keys(), differ


@pytest.mark.nsight
@pytest.mark.timeout(300)
@pytest.mark.slow("runs recipes of nsys")
@pytest.mark.parametrize("recipe", pace.PACE)
def test_the_pace_of_ranks_is_that_of_nsys(recipe: str, nsys: Path, tmp_path: Path) -> None:
    library, run = fill("ddp", tmp_path)
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if recipe == "cuda_gpu_kern_pace" else "allreduce"
    ours = recipes.run_recipe(library, run, recipe, {"name": name})
    theirs = recipe_oracle.join_pace(
        recipe_oracle.run_recipe(nsys, recipe, tmp_path / "reports", tmp_path, "--name", name)
    )
    assert len(ours) == 20
    for moment in ("start", "end"):  # Warpdeck knows when a session began to a microsecond
        assert (ours[moment] - theirs[moment]).abs().max() < 1000
        theirs[moment] = ours[moment]
    assert not list(recipe_oracle.list_differences(theirs, ours[theirs.columns]))
    assert recipes.run_recipe(library, run, recipe, {"name": "no such name"}).empty
    with pytest.raises(AnalysisError, match="needs the parameter name"):
        recipes.run_recipe(library, run, recipe)


@pytest.mark.nsight
@pytest.mark.timeout(300)
@pytest.mark.slow("runs recipes of nsys")
def test_the_difference_of_two_runs_is_that_of_nsys(nsys: Path, tmp_path: Path) -> None:
    recipe, rows = "cuda_gpu_kern_sum", {}
    for case in ("ddp", "strong"):
        (tmp_path / case).mkdir()
        library, run = fill(case, tmp_path / case)
        recipe_oracle.run_recipe(nsys, recipe, tmp_path / case / "reports", tmp_path / case)
        rows[case] = {by_rank: recipes.run_recipe(library, run, recipe, by_rank=by_rank) for by_rank in (False, True)}
    theirs = recipe_oracle.run_diff(nsys, tmp_path, *(tmp_path / case / recipe for case in rows))
    for by_rank, table in ((False, "all_stats"), (True, "rank_stats")):
        ours = recipes.subtract_summary(rows["ddp"][by_rank], rows["strong"][by_rank])
        assert len(ours) > 10
        assert not list(recipe_oracle.list_differences(theirs[table], ours[theirs[table].columns]))


@pytest.mark.nsight
@pytest.mark.timeout(300)
@pytest.mark.slow("runs recipes of nsys")
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_the_map_of_metrics_is_that_of_nsys(nsys: Path, tmp_path: Path) -> None:
    """Each of two captures alone, because they are days apart: together, all samples of one fall into a single bin."""
    library, both = fill("metrics", tmp_path)
    for rank in both.ranks:
        (name,) = (report.name for report in library.list() if report.id == rank.report_id)
        folder = tmp_path / PurePath(name).stem
        (folder / "reports").mkdir(parents=True)
        shutil.copy(tmp_path / "reports" / name, folder / "reports")
        check_metrics(library, replace(both, ranks=(rank,)), nsys, folder)
    assert recipes.run_recipe(library, both, "gpu_metric_util_map")["File"].nunique() == 2


def check_metrics(library: Library, run: Run, nsys: Path, folder: Path) -> None:
    theirs = recipe_oracle.run_recipe(nsys, "gpu_metric_util_map", folder / "reports", folder, "--bins", "1000")
    ours = recipes.run_recipe(library, run, "gpu_metric_util_map", {"bins": 1000})
    assert len(ours) > 100
    assert not list(recipe_oracle.list_differences(theirs["analysis"], ours))


def test_iterations_by_hand() -> None:
    """Two ranks; the second one's session began 100 ns later."""
    first = pd.DataFrame({"start_ns": [10, 30], "end_ns": [15, 40]})
    ranks = [pace.Rank("a", 0, first), pace.Rank("b", 100, first.iloc[1:])]
    rows = pace.list_iterations(ranks)
    assert list(rows.itertuples(index=False, name=None)) == [
        (0, 0, 10, 15, 5, 10, 5, 10, "a"),
        (0, 1, 30, 40, 10, 15, 15, 25, "a"),
        (1, 0, 130, 140, 10, 30, 10, 30, "b"),
    ]
    assert pace.list_iterations([]).empty


def test_bins_by_hand() -> None:
    """Bins of 10 ns; a session from 5 to 28 ns with kernels from 5 to 8, 9 to 12 and 25 to 28 ns."""
    session = utilization_map.Session(5, 23)
    assert utilization_map.measure_bin([session], 3) == 10
    used = pd.DataFrame({"pid": 7, "device_id": 0, "bin": [0, 1, 2], "used_ns": [4, 2, 3]})
    rows = utilization_map.list_bins({"Kernel": used}, session, 10, 4)
    assert rows["Kernel"].tolist()[:3] == [80.0, 20.0, 37.5]
    assert rows["Kernel"].isna().tolist() == [False, False, False, True]
    assert rows["Duration"].tolist() == [0, 10, 20, 30]


def test_kernel_time_by_bin_by_hand(tmp_path: Path) -> None:
    """Kernels from 5 to 8, 7 to 12 and 12 to 40 ns on one GPU, and one of the same time on another."""
    library = Library(tmp_path / "library")
    with store.create(tmp_path / "bins.duckdb", ready=empty()) as made:
        made.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 100, 100)")
        made.execute("INSERT INTO kernel_name (name_id, demangled, short) VALUES (1, 'k()', 'k')")
        for number, (device, start, end) in enumerate(((0, 5, 8), (0, 7, 12), (0, 12, 40), (1, 12, 40))):
            made.execute(
                "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, global_pid, name_id) "
                "VALUES (?, ?, ?, ?, ?, 1)",
                [number, start, end, device, 7 << 24],
            )
    library.publish(tmp_path / "bins.duckdb", Manifest("1" * 16, SCHEMA_VERSION, "bins", "nsys", "1" * 16, 1))
    rows = analysis.run(library, "1" * 16, utilization_map.KERNEL_USE, {"bin_ns": 10, "shift_ns": 1})
    assert list(rows.itertuples(index=False, name=None)) == [
        (7, 0, 0, 4),
        (7, 0, 1, 10),
        (7, 0, 2, 10),
        (7, 0, 3, 10),
        (7, 0, 4, 1),
        (7, 1, 1, 7),
        (7, 1, 2, 10),
        (7, 1, 3, 10),
        (7, 1, 4, 1),
    ]
    with pytest.raises(AnalysisError, match="parameter"):
        analysis.run(library, "1" * 16, utilization_map.KERNEL_USE, {"bin_ns": 0})
    occurrences = analysis.run(library, "1" * 16, pace.OCCURRENCES, {"name": "k"})
    assert occurrences["start_ns"].tolist() == [5, 7, 12, 12]


def test_means_of_metrics_by_hand(tmp_path: Path) -> None:
    """Samples at 10, 20, 21 and 40 ns of two GPUs; those at -1 and 90 ns lie outside the session of 80 ns."""
    library = Library(tmp_path / "library")
    with store.create(tmp_path / "metrics.duckdb", ready=empty()) as made:
        made.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 80, 80)")
        for metric in ("SMs Active [Throughput %]", "SM Issue", "Other"):
            made.execute(f'ALTER TABLE gpu_metric ADD COLUMN "{metric}" DOUBLE')
        made.executemany(
            "INSERT INTO gpu_metric VALUES (?, ?, ?, ?, 7)",
            [(0, -1, 9, 9), (0, 10, 4, 1), (0, 20, 6, 2), (0, 21, 8, None), (1, 40, 5, 5), (0, 90, 9, 9)],
        )
    library.publish(tmp_path / "metrics.duckdb", Manifest("1" * 16, SCHEMA_VERSION, "metrics", "nsys", "1" * 16, 1))
    cut = {"bin_ns": 20, "shift_ns": 0, "stop_ns": 80}
    means = analysis.run(library, "1" * 16, utilization_map.METRIC_USE, cut)
    assert means[["gpu_id", "bin", "sm_active"]].to_numpy().tolist() == [[0, 0, 5.0], [0, 1, 8.0], [1, 1, 5.0]]
    assert means["sm_issue"].isna().tolist() == [False, True, False]
    assert means["tensor_active"].isna().all()
    shifted = analysis.run(library, "1" * 16, utilization_map.METRIC_USE, cut | {"shift_ns": 20})
    assert shifted["bin"].tolist() == [1, 2, 2]
    rows = utilization_map.list_metrics(means, 20)
    assert rows["Duration"].tolist() == [0, 20, 20]
    assert rows["SM Active"].tolist() == [5.0, 8.0, 5.0]


def test_a_summary_over_ranks_by_hand() -> None:
    """Two ranks with durations of 1, 3 and 10 ns; the pooled deviation is that of all three."""
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
    """Calls of 2, 4 and 10 ns count; one without duration and one without an end do not."""
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
