"""Files beside a report, through the real worker: before it and after it, changed, broken and deleted."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from ingest.sidecars.files import ColumnsNeededError, read_sidecar
from profiledb.errors import ConversionError
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report.sidecar import Columns
from tests.conftest import Ingest
from tests.support.dropped_files import job_of, made

DATA = Path(__file__).parents[1] / "data" / "ncu"
TIMES = "label,step,seconds\nforward,0,0.5\nforward,1,0.25\n"
FACTS = {"batch": 8, "model": {"heads": 12, "sizes": [64, 1e-3]}, "causal": True, "nothing": None, "gpu": "H200"}


def timings(library: Library) -> list[tuple[str, int, float]]:
    (report,) = library.list()
    frame = analysis.query(library, report.id, "SELECT label, step, seconds FROM timing ORDER BY ALL")
    return [tuple(row) for row in frame.itertuples(index=False)]


def facts(library: Library) -> dict[str, str]:
    (report,) = library.list()
    frame = analysis.query(library, report.id, "FROM meta")
    return dict(zip(frame["key"], frame["value"], strict=True))


def states(library: Library) -> dict[str, str]:
    return {job.name: job.state for job in library.catalog.jobs()}


@pytest.mark.parametrize("name", ["a.timings.csv", "a.csv"])
def test_it_comes_with_its_report(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    (inbox / name).write_text(TIMES)
    (inbox / "a.meta.json").write_text(json.dumps(FACTS))
    made(inbox / "a.sqlite")
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 0, done.errors
    assert states(empty_library) == {"a.sqlite": "ready", name: "ready", "a.meta.json": "ready"}
    assert timings(empty_library) == [("forward", 0, 0.5), ("forward", 1, 0.25)]
    assert facts(empty_library) == {
        "batch": "8", "model.heads": "12", "model.sizes.0": "64", "model.sizes.1": "0.001", "causal": "true",
        "gpu": "H200",
    }  # fmt: skip


def test_before_after_changed_broken_and_deleted(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    path = inbox / "a.timings.csv"
    path.write_text(TIMES)
    ingest(inbox, empty_library.folder)
    assert states(empty_library) == {path.name: "alone"}
    report = made(inbox / "a.sqlite")
    ingest(inbox, empty_library.folder)
    assert len(timings(empty_library)) == 2
    path.write_text("label,step,seconds\nbackward,7,2\n")
    ingest(inbox, empty_library.folder)
    assert timings(empty_library) == [("backward", 7, 2.0)]
    path.write_text("label,step,seconds\nbackward,7,soon\n")
    done = ingest(inbox, empty_library.folder)
    job = job_of(empty_library, path)
    assert (job.state, timings(empty_library)) == ("failed", [("backward", 7, 2.0)])
    assert "row 2: seconds is 'soon'" in job.message
    assert "stays in use" in job.hint
    assert "soon" in done.errors
    path.write_text(TIMES)
    ingest(inbox, empty_library.folder)
    (kept,) = empty_library.list()
    empty_library.delete(kept.id)
    assert not list(empty_library.reports.iterdir())
    ingest(inbox, empty_library.folder)
    assert states(empty_library) == {"a.sqlite": "deleted", path.name: "alone"}
    report.touch()
    ingest(inbox, empty_library.folder)
    assert len(timings(empty_library)) == 2, "the report is back, and so are they"


def test_names_of_columns_are_asked_for_once(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "a.sqlite")
    path = inbox / "a.timings.csv"
    path.write_text("what;ms;note\nforward;500;x\nforward;250;y\n")
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, path)
    assert (job.state, json.loads(job.detail)) == ("columns", ["what", "ms", "note"])
    assert timings(empty_library) == []
    empty_library.catalog.name_columns(str(path), Columns("what", "", "ms", "milliseconds"))
    ingest(inbox, empty_library.folder)
    assert timings(empty_library) == [("forward", 0, 0.5), ("forward", 1, 0.25)]
    path.write_text("what;ms\nforward;125\n")
    ingest(inbox, empty_library.folder)
    assert timings(empty_library) == [("forward", 0, 0.125)]
    path.write_text("what;µs\nforward;125\n")
    ingest(inbox, empty_library.folder)
    assert job_of(empty_library, path).state == "columns", "the column of the times is gone"


def test_a_crash_and_a_lost_catalog_keep_them(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "a.sqlite")
    (inbox / "a.meta.json").write_text('{"batch": 4}')
    ingest(inbox, empty_library.folder)
    stray = empty_library.reports / "0123456789abcdef.meta.json"
    stray.write_text("{}")
    (empty_library.folder / "catalog.sqlite").unlink()
    again = Library(empty_library.folder)
    ingest(inbox, again.folder)
    assert facts(again) == {"batch": "4"}
    assert not stray.exists(), "its report is gone"


def test_a_table_without_a_report_of_its_name_is_no_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "b.csv").write_text(TIMES)
    assert ingest(inbox, empty_library.folder, "--strict").status == 1
    assert states(empty_library) == {"b.csv": "failed"}
    made(inbox / "b.sqlite")
    ingest(inbox, empty_library.folder)
    assert states(empty_library)["b.csv"] == "ready"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.meta.json", "[1]", "no JSON object"),
        ("a.meta.json", "{", "not JSON"),
        ("a.meta.json", "[" * 100_000, "not JSON"),
        ("a.json", "3", "neither facts nor timings"),
        ("a.timings.csv", "", "no columns"),
        ("a.timings.csv", "label,step,seconds\n", "no row"),
        ("a.timings.csv", "label,step,seconds\nx,1\n", "too few cells"),
        ("a.timings.csv", "label,step,seconds\n,1,2\n", "no label"),
        ("a.timings.csv", "label,step,seconds\nx,1.5,2\n", "not a whole number"),
        ("a.timings.csv", "label,step,seconds\nx,1,-2\n", "not a time"),
        ("a.timings.csv", "label,step,seconds\nx,1,nan\n", "not a time"),
        ("a.timings.json", '[{"label": "x"}]', "no columns"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConversionError, match=words) as caught:
        read_sidecar(tmp_path / name)
    assert words != "no columns" or isinstance(caught.value, ColumnsNeededError)


WRITTEN: dict[str, Callable[[Path], object]] = {
    "a.timings.json": lambda path: path.write_text('[{"seconds": 2e-3, "step": 1, "label": "x, \\"y\\""}]'),
    "a.csv": lambda path: path.write_bytes('\ufeffStep\tLabel\tSeconds\r\n1\tx, "y"\t2e-3\r\n\r\n'.encode()),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_json_tabs_and_odd_labels(tmp_path: Path, name: str) -> None:
    WRITTEN[name](tmp_path / name)
    assert read_sidecar(tmp_path / name).text == 'label,step,seconds\n"x, ""y""",1,0.002\n'


def test_rows_of_a_warm_up_are_kept_and_a_row_may_belong_to_no_step(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    (inbox / "a.timings.csv").write_text("label,step,seconds\nforward,Warm-up,9\nforward,0,0.5\nwhole,,0.75\n")
    made(inbox / "a.sqlite")
    assert ingest(inbox, empty_library.folder, "--strict").status == 0
    (report,) = empty_library.list()
    frame = analysis.query(empty_library, report.id, "FROM timing ORDER BY seconds")
    assert list(frame["label"]) == ["forward", "whole", "forward"]
    assert list(frame["is_warmup"]) == [False, False, True]
    assert [None if pd.isna(step) else step for step in frame["step"]] == [0, None, None]
    assert list(frame["seconds"]) == [0.5, 0.75, 9]


def test_tables_of_a_capture_that_no_page_reads_are_left_alone(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    made(inbox / "a.sqlite")
    (inbox / "a.energy.csv").write_text("batch,joules\n1,2\n")
    assert ingest(inbox, empty_library.folder, "--strict").status == 0
    assert states(empty_library) == {"a.sqlite": "ready"}


POWER = """\
time_ns,elapsed_s,device,uuid,power_w,energy_mj
1795274097316886716,0,0,GPU-1,126.5,6908334
1795274097341886716,0.025,0,GPU-1,,6908334
"""
TASKS = "task,size,device,part,seconds\nmatmul,256,CPU,compute,0.5\nmatmul,256,gpu,to_device,0.25\n"


def test_logs_come_with_their_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "a.nvml.csv").write_text(POWER)
    (inbox / "a.tasks.csv").write_text(TASKS)
    made(inbox / "a.sqlite")
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 0, done.errors
    (report,) = empty_library.list()
    read_back = analysis.query(empty_library, report.id, "SELECT time_ns, uuid, power_w, energy_mj FROM power_log")
    assert list(read_back["time_ns"]) == [1795274097316886716, 1795274097341886716]
    assert list(read_back["energy_mj"]) == [6908334, 6908334]
    assert list(read_back["power_w"].isna()) == [False, True], "what the GPU does not tell is missing, not 0"
    tasks = analysis.query(empty_library, report.id, "SELECT task, size, device, part, seconds FROM task_time")
    assert [tuple(row) for row in tasks.itertuples(index=False)] == [
        ("matmul", 256, "cpu", "compute", 0.5),
        ("matmul", 256, "gpu", "to_device", 0.25),
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.nvml.csv", "device,power_w\n0,1\n", "has no column time_ns"),
        ("a.nvml.csv", "time_ns,device\n1,0\n", "has no column energy_mj or power_w"),
        ("a.nvml.csv", "time_ns,device,power_w\n", "has no row"),
        ("a.nvml.csv", "time_ns,device,power_w\n1,0,-4\n", "row 2: power_w is '-4'"),
        ("a.nvml.csv", "time_ns,device,power_w\n1.5,0,4\n", "row 2: time_ns is '1.5'"),
        ("a.nvml.csv", "time_ns,device,power_w\n99999999999999999999,0,4\n", "row 2: time_ns"),
        ("a.nvml.csv", "time_ns,device,power_w\n1,0\n", "row 2 has too few cells"),
        ("a.tasks.csv", "task,size,device,seconds\nmatmul,256,tpu,1\n", "row 2: device is 'tpu'"),
        ("a.tasks.csv", "task,size,device,seconds\n,256,cpu,1\n", "row 2: task is ''"),
        ("a.tasks.csv", "task,size,device,seconds\nmatmul,256,cpu,inf\n", "row 2: seconds is 'inf'"),
    ],
)
def test_a_log_with_a_fault_says_which(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConversionError, match="(?i)" + problem):
        read_sidecar(tmp_path / name)


def test_without_a_part_a_task_is_computing(tmp_path: Path) -> None:
    (tmp_path / "a.tasks.csv").write_text("size;task;device;seconds\n256;matmul;cpu;1\n")
    assert read_sidecar(tmp_path / "a.tasks.csv").text == "task,size,device,part,seconds\nmatmul,256,cpu,compute,1\n"


def test_a_table_of_ncu_that_is_called_like_a_file_beside_a_report(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    """Its content makes it a report; the sidecars are read all the same."""
    made(inbox / "a.sqlite")
    (inbox / "a.csv").write_bytes((DATA / "details_2024.csv").read_bytes())
    (inbox / "a.meta.json").write_text('{"batch": 4}')
    (inbox / "a.timings.csv").write_text(TIMES)
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 0, done.errors
    assert set(states(empty_library).values()) == {"ready"}
    assert {report.kind for report in empty_library.list()} == {"nsys", "ncu"}
    assert ingest(inbox, empty_library.folder).lines == []
