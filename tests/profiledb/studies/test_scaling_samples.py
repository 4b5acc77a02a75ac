"""The samples of data-parallel training: scaling against their timings, their exports and each other."""

import csv
import json
import statistics
from pathlib import Path

import pytest

from profiledb.access.cli.main import main
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.scaling import family, nccl
from profiledb.studies.scaling import rows as scaling_rows
from profiledb.studies.scaling import runs as scaling
from profiledb.studies.scaling.runs import Run, RunAnalysis
from tests.conftest import Once, ingest_files
from tests.support.ddp_samples import FOLDER, NAMES, needs_ddp, rows
from tests.support.every_report import slow_but

pytestmark = [needs_ddp, pytest.mark.integration]

TWO_RUNS = ("ddp_1", "ddp_strong_2")
every_run = pytest.mark.parametrize(
    "runs", [pytest.param((), marks=pytest.mark.slow("analyzes fifteen reports"))], indirect=True
)


@pytest.fixture(scope="session")
def two_runs(once: Once) -> Library:
    """A library of a run of one rank and of one of two."""

    def fill(folder: Path) -> None:
        ingest_files(folder, [path for path in FOLDER.glob("*") if path.name.startswith(TWO_RUNS)])

    return Library(once("ddp_two_runs", fill) / "library")


@pytest.fixture(name="runs", scope="session")
def make_runs(request: pytest.FixtureRequest) -> dict[str, Run]:
    """The two runs, or all of them."""
    library: Library = request.getfixturevalue("two_runs" if request.param else "ddp")

    def answers(report_id: str) -> RunAnalysis:
        return lambda name, **params: analysis.run(library, report_id, name, params)

    named = [family.read_named(library, one) for one in library.list()]
    assert {one.id for one in family.find_family(named[0], named)} == {one.id for one in named}
    found, left = scaling.gather_runs(named, answers)
    assert left == []
    return {run.name: run for run in found}


def timed(run: str) -> float:
    """Mean length of a step, s, as the program measured it: over steps and ranks."""
    seconds = []
    for name in NAMES:
        if name.startswith(run):
            with (FOLDER / f"{name}.timings.csv").open() as file:
                seconds += [float(row["seconds"]) for row in csv.DictReader(file) if row["label"].startswith("step_")]
    return statistics.fmean(seconds)


@every_run
def test_runs_and_their_ranks(runs: dict[str, Run]) -> None:
    sizes = {name: (run.size, len(run.ranks), run.scaling) for name, run in runs.items()}
    assert sizes == {
        "ddp_1": (1, 1, "strong"), "ddp_strong_2": (2, 2, "strong"), "ddp_strong_4": (4, 4, "strong"),
        "ddp_weak_4": (4, 4, "weak"), "ddp_overlap_4": (4, 4, "strong"),
    }  # fmt: skip


@pytest.mark.parametrize("runs", slow_but([TWO_RUNS], [TWO_RUNS, ()], "analyzes fifteen reports"), indirect=True)
def test_efficiency_as_the_program_timed_it(runs: dict[str, Run]) -> None:
    table = {row["run"]: row for row in scaling_rows.run_rows(list(runs.values())).to_dict("records")}
    one = timed("ddp_1")
    for name, run in runs.items():
        row = table[name]
        assert run.step_ns == pytest.approx(1e9 * timed(name), rel=0.01)
        assert sum(row[part] for part in scaling.PARTS) == pytest.approx(row["step_ns"])
        if run.size > 1:
            share = 1 if run.scaling == "weak" else run.size
            assert row["efficiency_pct"] == pytest.approx(100 * one / (share * timed(name)), rel=0.01)
            assert row["base"] == "ddp_1"
            assert sum(row[f"lost_{part}"] for part in scaling.PARTS) == pytest.approx(row["lost_ns"])
    assert 80 < table["ddp_strong_2"]["efficiency_pct"] < 95
    if "ddp_strong_4" in runs:
        assert table["ddp_weak_4"]["efficiency_pct"] > 95
        assert 60 < table["ddp_strong_4"]["efficiency_pct"] < 80


@every_run
def test_overlap_hides_communication_and_is_slower_all_the_same(runs: dict[str, Run]) -> None:
    strong, overlap = runs["ddp_strong_4"], runs["ddp_overlap_4"]
    assert strong.part("hidden_ns") == 0
    assert overlap.part("hidden_ns") > 1e6 > overlap.part("exposed_ns")
    assert overlap.part("idle_ns") > 1.5 * strong.part("idle_ns"), "its host launches too late"
    assert overlap.step_ns > strong.step_ns


@pytest.mark.parametrize(
    ("runs", "name"),
    [
        (TWO_RUNS, "ddp_strong_2"),
        *(
            pytest.param((), name, marks=pytest.mark.slow("analyzes fifteen reports"))
            for name in ("ddp_strong_4", "ddp_weak_4")
        ),
    ],
    indirect=["runs"],
)
def test_waits_and_bandwidth_against_the_exports(runs: dict[str, Run], name: str) -> None:
    sql = (
        'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName'
        " WHERE value LIKE 'nccl%' ORDER BY start LIMIT 4 OFFSET 1"  # the first is that of the warm-up
    )
    durations = [[ns for (ns,) in rows(one, sql)] for one in NAMES if one.startswith(name)]
    shortest = [min(column) for column in zip(*durations, strict=True)]
    found = nccl.wait_rows(runs[name])
    assert list(found["wait_ns"]) == [sum(mine) - sum(shortest) for mine in durations]
    assert found["last"].sum() == 4
    (row,) = nccl.build_operations(runs[name]).to_dict("records")
    ranks, size = len(durations), 4 * 108_589_056
    assert (row["bytes"], row["transfer_ns"]) == (size, sum(shortest))
    assert row["algbw_gb_per_s"] == pytest.approx(size / sum(shortest))
    assert row["busbw_gb_per_s"] == pytest.approx(size / sum(shortest) * 2 * (ranks - 1) / ranks)
    assert row["busbw_gb_per_s"] < 450, "NVLink of an H200 carries 450 GB/s one way"


@every_run
def test_buckets_of_the_overlapped_run_are_matched(runs: dict[str, Run]) -> None:
    (row,) = nccl.build_operations(runs["ddp_overlap_4"]).to_dict("records")
    assert (row["count"], row["matched"], row["bytes"]) == (16, 16, 4 * 108_589_056)


def test_command_line(two_runs: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library = ["--library", str(two_runs.folder)]
    names = [f"{name}.sqlite" for name in NAMES if name.startswith(TWO_RUNS)]
    assert main(["scaling", *library, *names]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Efficiency on 2 ranks: ddp_strong_2 88.")
    assert "ddp_strong_2: AllReduce, 4 per rank" in text
    tokens = {
        name: 2 ** (name != "ddp_1") * json.loads((FOLDER / file).read_text())["items_per_step"]["tokens"]
        for name, file in (("ddp_1", "ddp_1.meta.json"), ("ddp_strong_2", "ddp_strong_2_rank0.meta.json"))
    }
    assert tokens["ddp_1"] == tokens["ddp_strong_2"]
    assert (
        f"ddp_strong_2 is strong scaling: its ranks share {tokens['ddp_1']:,} tokens per step, as many as in ddp_1."
        in text
    )
    assert main(["scaling", *library, *names, "--format", "csv"]) == 0
    first, *lines = csv.reader(capsys.readouterr().out.splitlines())
    assert first == [column.name for column in scaling_rows.RUNS]
    assert [line[0] for line in lines] == ["ddp_1", "ddp_strong_2"]
    assert main(["scaling", *library, *names[1:2], "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["runs"][0]["seen"] == 1
    assert answer["runs"][0]["efficiency_pct"] is None
    assert answer["waits"] == {"ddp_strong_2": []}
    assert "1 of 2 ranks" in answer["notes"][0]
    assert main(["scaling", *library, "nothing.sqlite"]) == 1
