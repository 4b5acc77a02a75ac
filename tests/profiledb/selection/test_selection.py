"""Selections of a small capture, checked by hand, and a selection of everything, which changes nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from profiledb.access.cli import main as cli
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header, views
from profiledb.selection import apply, model
from tests.support import exports
from tests.support.answers import Answers, fitting, joined
from tests.support.exports import PID, kernel

MORE = pytest.mark.slow("more selections")
MAIN, AUTOGRAD = PID + 7, PID + 8
BEGIN = 1000

RANGES = [
    *[(0, 100, "warmup"), (10, 40, "forward"), (50, 90, "backward")],
    *[(100, 200, "step"), (110, 140, "forward"), (150, 190, "backward")],
    *[(200, 300, "step"), (210, 240, "forward"), (250, 290, "backward")],
    *[(300, 350, "eval#2"), (360, 380, "eval"), (380, 400, "eval"), (400, 402, "it's 100%")],
]
"""Ranges of the main thread; the other one, which runs the backward passes, has none."""

WORK = {
    "w1": (12, MAIN, "kernel", 0, 7),
    "w2": (55, AUTOGRAD, "kernel", 0, 7),
    "f1": (112, MAIN, "kernel", 0, 7),
    "copy": (142, MAIN, "memcpy", 0, 7),
    "b1": (155, AUTOGRAD, "kernel", 0, 7),
    "b2": (165, AUTOGRAD, "kernel", 1, 13),
    "f2": (212, MAIN, "kernel", 1, 7),
    "set": (242, MAIN, "memset", 1, 13),
    "b3": (255, AUTOGRAD, "kernel", 0, 13),
    "graph": (292, MAIN, "graph", 0, 7),
    "e#": (310, MAIN, "kernel", 0, 7),
    "e1": (365, MAIN, "kernel", 0, 7),
    "e2": (385, MAIN, "kernel", 0, 7),
    "free": (405, MAIN, "kernel", 0, 7),
}
"""Begin and thread of a call, and what it launches, where: 10 ns later, for 5 ns. ``lost`` has no call."""

EVERYTHING = {*WORK, "lost"}
BACKWARD = {"b1", "b2", "b3"}
STEP1, STEP2 = {"f1", "copy"}, {"f2", "set", "graph"}


def tables() -> exports.Tables:
    rows: dict[str, list[tuple[Any, ...]]] = {"kernel": [], "memcpy": [], "memset": [], "graph": []}
    columns = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes")
    for i, (start, _, kind, device, stream) in enumerate([*WORK.values(), (430, MAIN, "kernel", 0, 7)], 1):
        begin = BEGIN + start + 10
        row = kernel(begin, begin + 5, device=device, correlation=i)
        other = (begin, begin + 5, device, stream, i, PID, 64)
        rows[kind].append((*row[:4], stream, *row[5:]) if kind == "kernel" else other)
    calls = [(BEGIN + w[0], BEGIN + w[0] + 2, w[1], i, 1, 0, 0) for i, w in enumerate(WORK.values(), 1)]
    nvtx = [(BEGIN + start, BEGIN + end, 59, text, None, MAIN, 0) for start, end, text in RANGES]
    call_columns = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
    return {
        **exports.kernels(*rows["kernel"]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (columns, rows["memcpy"]),
        "CUPTI_ACTIVITY_KIND_MEMSET": (columns, rows["memset"]),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (columns[:6], [row[:6] for row in rows["graph"]]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (call_columns, calls),
        "NVTX_EVENTS": (exports.NVTX, nvtx),
        "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(1000, BEGIN, BEGIN + 1000)]),
    }


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library with the capture as report ``made``."""
    folder = tmp_path_factory.mktemp("selection")
    found = Library(folder / "library")
    path = exports.write(folder / "made.sqlite", tables())
    (folder / "library" / "work").mkdir()
    database = folder / "library" / "work" / "made.duckdb"
    with exports.loaded(database, path) as db:
        db.execute("UPDATE kernel_name SET class = 'other'")
    found.publish(database, manifest())
    return found


def manifest() -> Manifest:
    return Manifest("made", 1, "made.sqlite", "nsys", "0" * 64, 1)


def kept(library: Library, params: Mapping[str, Any]) -> set[str]:
    """Labels of the operations that a selection keeps, by thread where it names no mode."""
    label = {BEGIN + work[0] + 10: name for name, work in WORK.items()} | {BEGIN + 440: "lost"}
    with library.cursor("made", views=views.list_all()) as db:
        apply.apply(db, model.parse(params, "thread"))
        rows = db.execute(
            "SELECT start_ns FROM selected_kernel UNION ALL SELECT start_ns FROM selected_memop"
            " UNION ALL SELECT start_ns FROM selected_graph_launch"
        ).fetchall()
        named = db.execute("SELECT count(*) FROM selected_named_kernel").fetchone()
        assert named == db.execute("SELECT count(*) FROM selected_kernel").fetchone()
    assert len(rows) == len(set(rows))
    return {label[start] for (start,) in rows}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, EVERYTHING),
        pytest.param({"mode": "process"}, EVERYTHING, marks=MORE),
        pytest.param({"range": "step"}, STEP1 | STEP2, marks=MORE),
        ({"range": "step", "mode": "process"}, STEP1 | STEP2 | BACKWARD),
        ({"range": "step/forward"}, {"f1", "f2"}),
        pytest.param({"range": "forward"}, {"w1", "f1", "f2"}, marks=MORE),
        pytest.param({"range": "backward"}, set(), marks=MORE),
        ({"range": "backward", "mode": "process"}, {"w2", *BACKWARD}),
        pytest.param({"range": "step/backward#2", "mode": "process"}, {"b3"}, marks=MORE),
        pytest.param({"range": "step#2"}, STEP2, marks=MORE),
        ({"range": "step#1-2"}, STEP1 | STEP2),
        pytest.param({"range": "step#2-9"}, STEP2, marks=MORE),
        pytest.param({"range": "forward#1"}, {"w1", "f1"}, marks=MORE),  # the first of each path
        pytest.param({"range": "eval"}, {"e1", "e2"}, marks=MORE),
        pytest.param({"range": "eval#2"}, {"e#"}, marks=MORE),  # a name, not an instance
        ({"range": "eval#2#1"}, {"e#"}),
        pytest.param({"range": "eval#1"}, {"e1"}, marks=MORE),
        ({"range": "it's 100%"}, set()),
        ({"range": ("eval", "step#1")}, {"e1", "e2"} | STEP1),
        pytest.param({"range": ["step", "step/forward"]}, STEP1 | STEP2, marks=MORE),
        pytest.param({"range": "step", "skip_first": 1}, STEP2, marks=MORE),
        pytest.param({"range": "step#1-2", "skip_first": "1"}, STEP2, marks=MORE),
        ({"range": ("step", "eval"), "skip_first": 1}, STEP2 | {"e2"}),
        ({"warmup": "exclude"}, EVERYTHING - {"w1", "w2"}),
        pytest.param({"warmup": "include"}, EVERYTHING, marks=MORE),
        pytest.param({"warmup": "exclude", "range": "forward"}, {"f1", "f2"}, marks=MORE),
        pytest.param({"warmup": "exclude", "range": "warmup"}, {"w1"}, marks=MORE),
        pytest.param({"warmup": "exclude", "range": "warmup", "mode": "process"}, {"w1", "w2"}, marks=MORE),
        ({"warmup": "exclude", "range": "warmup/forward"}, {"w1"}),
        ({"warmup": "exclude", "range": "backward", "mode": "process"}, BACKWARD),
        pytest.param({"within": "steps"}, STEP1 | STEP2, marks=MORE),
        pytest.param({"within": "steps", "mode": "process"}, STEP1 | STEP2 | BACKWARD, marks=MORE),
        ({"within": "steps", "device": 1, "mode": "process"}, {"b2", "f2", "set"}),
        ({"within": "ranges"}, STEP1 | STEP2 | {"w1", "e1", "e2", "e#"}),
        pytest.param({"within": "ranges", "range": "step#2"}, STEP2, marks=MORE),
        pytest.param({"device": 1}, {"b2", "f2", "set"}, marks=MORE),
        pytest.param({"device": "1", "range": "step"}, {"f2", "set"}, marks=MORE),
        pytest.param({"stream": 13}, {"b2", "set", "b3"}, marks=MORE),
        ({"device": 0, "stream": 13}, {"b3"}),
        pytest.param({"device": 9}, set(), marks=MORE),
        ({"from_ns": 375}, {"e1", "e2", "free", "lost"}),
        pytest.param({"from_ns": 376}, {"e2", "free", "lost"}, marks=MORE),
        pytest.param({"to_ns": 122}, {"w1", "w2"}, marks=MORE),
        ({"to_ns": 123, "from_ns": "60"}, {"w2", "f1"}),
        ({"range": "step", "from_ns": 200, "device": 1, "stream": 7}, {"f2"}),
        ({"range": "", "device": None, "stream": "", "skip_first": ""}, EVERYTHING),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "-".join(sorted(value)),
)
def test_what_is_kept(library: Library, params: Mapping[str, Any], expected: set[str]) -> None:
    assert kept(library, params) == expected


def test_the_mode_is_by_process_unless_an_analysis_carries_a_name_of_nsys(library: Library) -> None:
    assert model.parse({}).mode == model.get_default(warmup=False).mode == "process", "pages and command line alike"
    by = {name: [header.get(one).mode for one in names] for name, names in OF_MODES.items()}
    assert by == {"process": ["process"] * 3, "thread": ["thread"] * 3}
    for name, columns in (("nvtx_tree", ["path", "operations"]), ("nvtx_gpu_proj_sum", ["Range", "Total GPU Ops"])):
        told = {
            mode: analysis.run(library, "made", name, {"mode": mode} if mode else {})[columns].values.tolist()
            for mode in ("", "process", "thread")
        }
        assert told["process"] != told["thread"], "the report tells the modes apart"
        assert told[""] == told[header.get(name).mode]


OF_MODES = {
    "process": ["nvtx_tree", "phase_split", "iteration_summary"],
    "thread": ["nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "nvtx_kern_sum"],
}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"range": "nothing"}, "No range of this report is called 'nothing'"),
        ({"range": "nothing#1"}, "No range"),
        ({"range": "x'; DROP TABLE range; --"}, "No range"),
        ({"range": "step\0"}, "No range"),
        ({"range": "step\udc80"}, "No range"),
        ({"range": "step#3"}, "no such instance"),
        ({"range": "step#0"}, "no such instance"),
        ({"range": "step#2-1"}, "no such instance"),
        ({"range": "step#" + "9" * 5000}, "No range"),
        ({"range": ("step", "step#7")}, "'step#7' has no such instance"),
        ({"range": "step", "skip_first": 2}, "no such instance"),
        ({"skip_first": 1}, "skip_first counts instances"),
        ({"skip_first": "two"}, "skip_first takes a whole number"),
        ({"device": "1.5"}, "device takes a whole number"),
        ({"from_ns": "now"}, "from_ns takes a whole number"),
        ({"to_ns": float("inf")}, "to_ns takes a whole number"),
        ({"warmup": "maybe"}, "warmup cannot be 'maybe'"),
        ({"mode": "core"}, "mode cannot be 'core'"),
        ({"within": "loop"}, "within cannot be 'loop'"),
        ({"within": "steps", "range": "eval"}, "The selection has no steps."),
        ({"color": "red"}, "no parameter 'color'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused(library: Library, params: Mapping[str, Any], words: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        kept(library, params)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"range": "step#1"}, ["backward", "forward", "step"]),
        ({"range": "warmup"}, ["backward", "forward", "warmup"]),
        ({"warmup": "exclude", "to_ns": 200}, ["backward", "forward", "step"]),
        ({"range": "step", "warmup": "exclude", "from_ns": 240}, ["backward"]),
    ],
    ids=str,
)
def test_ranges_in_a_selection(library: Library, params: Mapping[str, Any], names: list[str]) -> None:
    frame = analysis.run(library, "made", "range_summary", params)
    assert sorted(frame["name"]) == names


def test_times_of_a_capture_that_states_no_begin(tmp_path: Path) -> None:
    library = Library(tmp_path)
    path = exports.write(tmp_path / "made.sqlite", {"NVTX_EVENTS": tables()["NVTX_EVENTS"]})
    with exports.loaded(library.path("bare"), path):
        pass
    frame = analysis.run(library, "bare", "range_summary", {"from_ns": BEGIN + 300, "to_ns": BEGIN + 380})
    assert sorted(frame["name"]) == ["eval", "eval#2"]


def test_the_time_that_a_selection_covers(library: Library) -> None:
    """From the start of each instance's first operation to the end of its last."""
    with library.cursor("made", views=views.list_all()) as db:
        apply.apply(db, model.parse({"range": "step", "mode": "process", "to_ns": 260}))
        rows = db.execute("FROM selected_window ORDER BY start_ns").fetchall()
        busy = db.execute("FROM selected_busy ORDER BY ALL").fetchall()
    assert [(start - BEGIN, end - BEGIN) for start, end in rows] == [(122, 180), (222, 260)]
    assert [(device, start - BEGIN, end - BEGIN) for device, start, end in busy] == [
        *[(0, 122, 127), (0, 152, 157), (0, 165, 170)],
        *[(1, 175, 180), (1, 222, 227), (1, 252, 257)],
    ]


def test_the_time_that_steps_cover(library: Library) -> None:
    """From the start of a step to the end of its range, or of its last operation if that is later."""
    with library.cursor("made", views=views.list_all()) as db:
        apply.apply(db, model.parse({"within": "steps"}))
        rows = db.execute("FROM selected_window").fetchall()
    assert [(start - BEGIN, end - BEGIN) for start, end in rows] == [(100, 307)], "its graph ends after its range"


def run(library: Library, capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main([*argv, "--library", str(library.folder)])
    return status, *capsys.readouterr()


def test_the_command_line_takes_several_ranges(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("run", "class_split", "made", "--format", "json", "--param", "range=eval")
    for more, calls in (
        ((), 2),
        (("--param", "range=step#1"), 5),  # its backward pass too
        (("--param", "range=eval#2", "--param", "device=0"), 3),
    ):
        status, out, _ = run(library, capsys, *argv, *more)
        assert (status, json.loads(out)[0]["calls"]) == (0, calls)
    status, out, _ = run(library, capsys, "run", "class_split", "made", "--param", "range=a=b")
    assert status == 1
    status, _, err = run(library, capsys, "run", "class_split", "made", "--param", "device=0", "--param", "device=1")
    assert (status, "device can be given only once" in err) == (1, True)


def test_the_list_of_analyses_names_the_parameters(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(run(library, capsys, "analyses", "--format", "json")[1])
    for entry in entries:
        names = [param["name"] for param in entry["selection"]]
        assert names == (list(model.HELP) if header.get(entry["name"]).by_part else [])
    text = run(library, capsys, "analyses")[1]
    for name, words in model.HELP.items():
        assert f"{name} = " in text
        assert words in text


@pytest.mark.slow("every analysis of a report")
def test_a_selection_of_everything_changes_nothing(every_report: Library, answers: Answers) -> None:
    """On the report with the most tables: selecting rows does not depend on the report."""
    name = "transformer_training.nsys-rep"
    everything = {"from_ns": -(10**17), "to_ns": 10**17}
    report, compared = every_report.find(name).id, 0
    for found in fitting(every_report, name):
        if not found.by_part:
            continue
        try:
            plain = answers.frame(name, found.name)
        except NotCapturedError:
            continue
        selected = analysis.run(every_report, report, found.name, everything | joined(found))
        pd.testing.assert_frame_equal(plain, selected, obj=found.name)
        compared += 1
    assert compared > 20


def test_ranges_that_a_warm_up_drove_are_left_out_too(every_report: Library) -> None:
    """Libraries open ranges on the backward thread: three of the sample's eight steps are warm-up."""
    report = every_report.find("transformer_training.nsys-rep").id
    query = "SELECT count(*) AS n FROM selected_range AS r JOIN range_name USING (name_id) WHERE name LIKE 'CCCL:%Sort'"
    counts = []
    for warmup in ("include", "exclude"):
        with every_report.cursor(report, views=views.list_all()) as cursor:
            apply.apply(cursor, model.parse({"warmup": warmup}))
            counts.append(cursor.execute(query).fetchone())
    assert counts == [(8,), (5,)]
