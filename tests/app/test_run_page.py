"""The page "Run": the rank that delays the others, on the samples, and a report without a run."""

import csv
import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.views.run import heat
from profiledb.access.cli.main import main
from profiledb.access.operations.registry import get
from profiledb.library.library import Library
from profiledb.studies import run_lookup
from profiledb.studies.trends import summary_refresh
from tests.app.conftest import Dashboard, _use, use_copy
from tests.conftest import ingest_files
from tests.support.ddp_samples import FOLDER, needs_ddp


@pytest.fixture(name="summarized")
def make_summarized(summarized_ddp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A copy of the library of the samples, with their summaries; the dashboard of the test reads it."""
    return use_copy(summarized_ddp, tmp_path, monkeypatch)


@pytest.fixture
def pair(summarized_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The same of a run of two ranks and of one GPU alone."""
    return use_copy(summarized_pair, tmp_path, monkeypatch)


@pytest.mark.slow("summarizes the samples of four runs")
@needs_ddp
def test_the_samples_are_runs_and_none_has_a_straggler(summarized: Library) -> None:
    runs = {run.name: run for run in run_lookup.list_runs(summarized)}
    assert {name: (run.size, run.told_by, run.missing) for name, run in runs.items()} == {
        "ddp_overlap_4": (4, "launcher", []), "ddp_strong_2": (2, "launcher", []),
        "ddp_strong_4": (4, "launcher", []), "ddp_weak_4": (4, "launcher", []),
    }  # fmt: skip
    headlines = {name: run_lookup.answer(summarized, run).headline for name, run in runs.items()}
    assert {name: "arrive at their collectives together" in said for name, said in headlines.items()} == {
        "ddp_overlap_4": False, "ddp_strong_2": True, "ddp_strong_4": True, "ddp_weak_4": True,
    }  # fmt: skip
    assert "their CPUs need that time to launch its work" in headlines["ddp_overlap_4"]
    assert not any(run_lookup.answer(summarized, run).findings for run in runs.values())


@needs_ddp
def test_the_page_says_whether_a_rank_holds_up_the_others(pair: Library, dashboard: Dashboard) -> None:
    at = dashboard("run", report=pair.find("ddp_strong_2_rank0.sqlite").id)
    assert not at.exception
    assert any("no rank holds the others up" in one.value for one in at.markdown)
    assert [one.value for one in at.subheader] == [
        "Ranks by step", "Ranks", "Waits by communicator", "Kernels over the ranks",
        "Recipes of Nsight Systems",
    ]  # fmt: skip


@pytest.mark.slow("summarizes the samples of four runs")
@needs_ddp
def test_the_library_has_a_row_for_each_run_with_its_worst_finding(summarized: Library, dashboard: Dashboard) -> None:
    unjudged = dashboard("library").dataframe[-1].value
    assert set(unjudged["worst"]) <= {"Being judged", "Not judged yet"}
    run_lookup.list_lines(summarized, work_out=True)
    rows = dashboard("library").dataframe[-1].value.set_index("name")
    assert set(rows["worst"]) == {"Nothing costs time"}
    assert rows["ranks"].to_dict() == {
        "ddp_overlap_4": "4",
        "ddp_strong_2": "2",
        "ddp_strong_4": "4",
        "ddp_weak_4": "4",
    }
    summarized.delete(summarized.find("ddp_weak_4_rank1.sqlite").id)
    run_lookup.list_lines(summarized, work_out=True)
    at = dashboard("library")
    rows = at.dataframe[-1].value.set_index("name")
    assert rows["ranks"]["ddp_weak_4"] == "3 of 4, not 1"
    assert not at.exception


@needs_ddp
def test_a_recipe_lists_all_ranks(pair: Library, dashboard: Dashboard) -> None:
    report = pair.find("ddp_strong_2_rank0.sqlite").id
    rows = dashboard("run", report=report, recipe="nccl_sum").dataframe[-1].value
    assert list(rows["Text"]) == ["ncclAllReduce"]
    ranks = dashboard("run", report=report, recipe="nccl_sum", per="One per name and rank").dataframe[-1].value
    assert list(ranks["File"]) == ["ddp_strong_2_rank0", "ddp_strong_2_rank1"]
    assert int(rows["Sum"].iloc[0]) == int(ranks["Sum"].sum()) > 0
    unnamed = dashboard("run", report=report, recipe="nvtx_pace")
    assert any("Each occurrence is an iteration" in one.value for one in unnamed.caption)
    paces = dashboard("run", report=report, recipe="nvtx_pace", of="allreduce").dataframe[-1].value
    assert {*paces["File"]} == {"ddp_strong_2_rank0", "ddp_strong_2_rank1"}
    bins = dashboard("run", report=report, recipe="nccl_gpu_time_util_map").dataframe[-1].value
    assert len(bins) == 2 * 30


@needs_ddp
def test_a_recipe_on_the_command_line_and_for_programs(pair: Library, capsys: pytest.CaptureFixture[str]) -> None:
    shelf = ("--library", str(pair.folder))
    main(["run", "cuda_gpu_kern_sum", "--run", "ddp_strong_2", *shelf])
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    asked = {"report": "ddp_strong_2_rank1.sqlite", "recipe": "cuda_gpu_kern_sum"}
    answered = get("run_recipe").run(pair, asked).plain()
    assert [row["Name"] for row in answered["rows"]] == [line["Name"] for line in lines]
    assert (answered["name"], answered["ranks"]) == ("ddp_strong_2", 2)
    main(["run", "idle_gaps", "--run", "ddp_strong_2", *shelf])
    assert {line["File"] for line in csv.DictReader(capsys.readouterr().out.splitlines())} == {
        "ddp_strong_2_rank0", "ddp_strong_2_rank1"
    }  # fmt: skip
    main(["run", "cuda_gpu_kern_sum", "--run", "ddp_strong_2", "--diff", "ddp_strong_2", *shelf])
    nothing = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [one["Name"] for one in nothing] == [line["Name"] for line in lines]
    assert {float(one["Total Time"]) for one in nothing} == {0}
    same = get("run_recipe").run(pair, asked | {"other": "ddp_strong_2_rank0.sqlite"}).plain()
    assert {row["Instances"] for row in same["rows"]} == {0}
    for wrong in (
        ["idle_gaps", "--run", "ddp_strong_2", "--diff", "ddp_strong_2"],
        ["idle_gaps", "ddp_1", "--diff", "ddp_1"],
    ):
        assert main(["run", *wrong, *shelf])
    assert "--diff needs --run" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "cuda_gpu_kern_sum", "ddp_strong_2_rank0.sqlite", "--run", "ddp_strong_2", *shelf])
    assert "not allowed with argument REPORT" in capsys.readouterr().err


def test_a_browser_names_cells_of_the_map_alone() -> None:
    assert heat.parse_cell([1, 2], (2, 3)) == (1, 2)
    for wrong in (None, "12", [1], [1, 3], [-1, 0], [2, 0], [1.0, 2], [True, 0], {"row": 1}):
        assert heat.parse_cell(wrong, (2, 3)) is None


@needs_ddp
def test_a_report_of_a_single_gpu_says_how_runs_are_found(pair: Library, dashboard: Dashboard) -> None:
    at = dashboard("run", report=pair.find("ddp_1.sqlite").id)
    assert not at.exception
    assert any("not of a run" in one.value for one in (*at.markdown, *at.info, *at.warning))


HOSTILE = "\"'<img src=x onerror=alert(1)>**b** $x$ :red[y] \x1b[31m\u202e" + "long" * 30


@needs_ddp
def test_a_hostile_name_of_a_run_is_text_everywhere(
    tmp_path: Path, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has the name of its files: quotes, HTML, Markdown, an escape sequence, 170 letters."""
    (tmp_path / "made").mkdir()
    files = [tmp_path / "made" / f"{HOSTILE}_rank{rank}.sqlite" for rank in (0, 1)]
    for rank, file in enumerate(files):
        shutil.copyfile(FOLDER / f"ddp_strong_2_rank{rank}.sqlite", file)
    folder = tmp_path / "data"
    ingest_files(folder, files)
    _use(folder, monkeypatch)
    library = Library(folder / "library")
    summary_refresh.refresh(library)
    run_lookup.list_lines(library, work_out=True)
    (run,) = run_lookup.list_runs(library)
    assert (len(run.name), run.name.isprintable(), run.name[:30]) == (160, True, HOSTILE[:30])
    pages = {page: dashboard(page, report=run.reports[0]) for page in ("run", "library", "trends")}
    for at in pages.values():
        assert not at.exception
        for one in (*at.markdown, *at.caption, *at.header, *at.subheader):
            text = one.value.replace("\\<", "").replace("\\*", "").replace("\\$", "").replace("\\:", "")
            assert not any(markup in text for markup in ("<img", "**b**", "$x$", ":red[", "\x1b", "\u202e")), one.value
    (row,) = [one for one in pages["library"].dataframe[-1].value.to_dict("records") if one["ranks"] == "2"]
    assert row["name"] == run.name
    shelf = ["--library", str(library.folder)]
    for command in (["runs", run.name], ["runs"], ["check", run.name, "--run", "--against", "series"]):
        main([*command, *shelf])
    said = capsys.readouterr()
    assert run.name[:30] in said.out
    assert not any(one in said.out + said.err for one in "\x1b\u202e")
    main(["runs", run.name, "--format", "json", *shelf])
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == [run.name]
    assert [one["name"] for one in get("list_runs").run(library, {}).plain()["runs"]] == [run.name]
    assert get("get_run").run(library, {"report": run.reports[1]}).plain()["name"] == run.name


@pytest.mark.slow("summarizes reports of two profilers")
@needs_ddp
def test_ranks_of_two_profilers_are_one_run(
    tmp_path: Path, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nsys captured rank 0, and the PyTorch profiler captured rank 1 at the same time, on the same clock."""
    (tmp_path / "made").mkdir()
    files = [tmp_path / "made" / name for name in ("job_rank0.sqlite", "job_rank1.pt.trace.json")]
    shutil.copyfile(FOLDER / "ddp_strong_2_rank0.sqlite", files[0])
    with closing(sqlite3.connect(files[0])) as db:
        (begin_ns,) = db.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
    with gzip.open(FOLDER.parent / "torch" / "torch_ddp_2_rank1.pt.trace.json.gz", "rt") as packed:
        trace = json.load(packed)
    began_us = min(event["ts"] for event in trace["traceEvents"] if event.get("cat") == "kernel")
    trace["baseTimeNanoseconds"] = int(begin_ns - began_us * 1000)
    files[1].write_text(json.dumps(trace))
    ingest_files(tmp_path / "data", files)
    _use(tmp_path / "data", monkeypatch)
    library = Library(tmp_path / "data" / "library")
    summary_refresh.refresh(library)
    (run,) = run_lookup.list_runs(library)
    assert (run.name, run.told_by, len(run.reports), run.missing) == ("job", "launcher", 2, [])
    for report in run.reports:
        assert run_lookup.find_run(library, report) == run
        at = dashboard("run", report=report)
        assert next(one.value for one in at.metric if one.label == "Ranks") == "2"
        (ranks,) = [one.value for one in at.dataframe if "rank" in one.value and len(one.value) == 2]
        assert (ranks["step_ns"] > 0).all()
