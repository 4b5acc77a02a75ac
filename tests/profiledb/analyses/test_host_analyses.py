"""CPU activity: call chains, threads and back traces by hand, and real reports with CPU samples."""

import json
from typing import Any

import duckdb
import pytest

from profiledb.access.cli import main as command
from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.studies import speedscope
from tests.support.every_report import EVERY_REPORT
from tests.support.memory_reports import MAIN, WORKER, call, fill, osrt
from tests.support.page_reports import Publish, insert, kernel, picked, run

NAMES = {
    101: "main", 102: "train", 103: "decode", 104: "forward", 105: "linear", 106: "cuLaunchKernel",
    120: "/opt/app/program", 121: "/usr/lib/libjpeg.so.8", 122: "/work/train.py",
    123: "/usr/lib/python3/site-packages/torch/nn.py",
    124: "/usr/lib/libcuda.so.1",
}  # fmt: skip
STACKS: dict[int, tuple[tuple[int | None, int | None], ...]] = {
    1: ((103, 121), (102, 120), (101, 120)),
    2: ((103, 121), (102, 120), (101, 120)),
    3: ((102, 120), (101, 120)),
    4: ((103, 121), (103, 121), (101, 120)),
    5: (),
}
"""The innermost frame first; the fourth calls itself, the fifth has no chain."""


def frames(kind: str, stacks: dict[int, Any]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "callchain_id": number, "depth": depth, "symbol_id": symbol, "module_id": module}
        for number, stack in stacks.items()
        for depth, (symbol, module) in enumerate(stack)
    ]


def samples(db: duckdb.DuckDBPyConnection) -> None:
    """A GPU that works from 10 to 20 and from 80 to 90 µs, and five samples: the last of another thread."""
    kernels = [kernel(0, 1, 10_000, 20_000, call_id=0), kernel(1, 1, 80_000, 90_000, call_id=1)]
    times = {1: 15_000, 2: 20_000, 3: 79_999, 4: 80_000, 5: 50_000}
    rows = [
        {"sample_id": n, "time_ns": t, "global_tid": WORKER if n == 5 else MAIN, "cpu": 0} for n, t in times.items()
    ]
    fill(db, 100_000, ((10_000, 20_000), (80_000, 90_000)), kernel=kernels, cpu_sample=rows)
    insert(db, "string", [{"string_id": number, "value": value} for number, value in NAMES.items()])
    insert(db, "callchain", frames("sample", STACKS))


def test_functions_of_all_samples(library: Library, publish: Publish) -> None:
    rows = run(library, publish(samples), "cpu_functions")
    assert picked(rows, "function", "module", "self_samples", "self_pct", "total_samples", "threads") == [
        ("decode", "libjpeg.so.8", 3, 60, 3, 1),
        ("train", "program", 1, 20, 3, 1),
        ("[no symbol]", None, 1, 20, 1, 1),
        ("main", "program", 0, 0, 4, 1),
    ]


def test_samples_while_the_gpu_was_idle_and_of_a_thread(library: Library, publish: Publish) -> None:
    """Those at 20, 50 and 79.999 µs: the GPU stops at 20 and works again from 80 on."""
    report = publish(samples)
    idle = run(library, report, "cpu_functions", moments="idle")
    assert sorted((row["function"], row["self_samples"]) for row in idle if row["self_samples"]) == [
        ("[no symbol]", 1), ("decode", 1), ("train", 1),
    ]  # fmt: skip
    one = run(library, report, "cpu_functions", thread="7 / 71")
    assert picked(one, "function", "self_samples") == [("[no symbol]", 1)]
    assert run(library, report, "cpu_functions", thread="nobody") == []
    part = run(library, report, "cpu_functions", from_ns=15_000, to_ns=20_000)
    assert picked(part, "function", "self_samples") == [("decode", 1), ("main", 0), ("train", 0)]


def test_modules(library: Library, publish: Publish) -> None:
    rows = run(library, publish(samples), "cpu_modules")
    assert picked(rows, "module", "self_samples", "total_samples") == [
        ("libjpeg.so.8", 3, 3),
        ("program", 1, 4),
        ("", 1, 1),
    ]


def test_the_tree_of_calls(library: Library, publish: Publish) -> None:
    report = publish(samples)
    rows = run(library, report, "cpu_tree")
    by_id = {row["node_id"]: row for row in rows}

    def way(row: dict[str, Any]) -> tuple[str, ...]:
        above = way(by_id[row["parent_id"]]) if row["parent_id"] else ()
        return (*above, row["function"])

    assert {way(row): (row["level"], row["samples"], row["self_samples"]) for row in rows} == {
        ("7 / 70",): (0, 4, 0),
        ("7 / 70", "main"): (1, 4, 0),
        ("7 / 70", "main", "train"): (2, 3, 1),
        ("7 / 70", "main", "train", "decode"): (3, 2, 2),
        ("7 / 70", "main", "decode"): (2, 1, 0),
        ("7 / 70", "main", "decode", "decode"): (3, 1, 1),
        ("7 / 71",): (0, 1, 0),
        ("7 / 71", "[no symbol]"): (1, 1, 1),
    }
    few = run(library, report, "cpu_tree", limit=4)
    assert {row["parent_id"] for row in few} - {None} <= {row["node_id"] for row in few}


def test_a_deep_chain_ends_at_its_outermost_functions(library: Library, publish: Publish) -> None:
    def write(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, cpu_sample=[{"sample_id": 1, "time_ns": 5, "global_tid": MAIN}])
        insert(db, "string", [{"string_id": n, "value": f"f{n}"} for n in range(200, 400)])
        insert(db, "callchain", frames("sample", {1: [(n, None) for n in range(200, 400)]}))

    rows = run(library, publish(write), "cpu_tree")
    assert max(row["level"] for row in rows) == 96
    assert (rows[-1]["function"], rows[-1]["self_samples"]) == ("f304", 1)


def test_states_of_threads(library: Library, publish: Publish) -> None:
    """The main thread: on from 10 to 30, off to 60 (in a call from 35 to 50), on to the end at 90.

    The other thread was taken off at 40, so it ran before; it never came back.
    """
    events = [(10_000, True, MAIN), (30_000, False, MAIN), (60_000, True, MAIN), (90_000, True, WORKER + 1),
              (40_000, False, WORKER)]  # fmt: skip

    def write(db: duckdb.DuckDBPyConnection) -> None:
        rows = [{"time_ns": t, "cpu": 0, "scheduled_in": on, "global_tid": tid} for t, on, tid in events]
        calls = [osrt(0, 6, 35_000, 50_000), osrt(1, 6, 40_000, 45_000), osrt(2, 6, 15_000, 20_000, WORKER)]
        fill(db, sched_event=rows, osrt_call=calls, api_call=[call(0, 1, 12_000, 14_000)])
        insert(db, "thread", [{"global_tid": WORKER, "global_pid": 7 << 24, "name": "pt_data_worker"}])

    rows = run(library, publish(write), "host_threads")
    found = {row["thread"]: row for row in rows}
    assert picked([found["7 / 70"]], "running_ns", "blocked_ns", "waiting_ns", "switches", "role", "samples") == [
        (50_000, 15_000, 15_000, 1, "launches", None)
    ]
    worker = picked([found["7 / 71"]], "running_ns", "blocked_ns", "waiting_ns", "role", "os_ns", "os_function")
    assert worker == [(30_000, 0, 0, "data loading", 5_000, "sem_wait")]
    half = {row["thread"]: row for row in run(library, publish(write), "host_threads", from_ns=20_000, to_ns=40_000)}
    assert picked([half["7 / 70"]], "running_ns", "blocked_ns", "waiting_ns") == [(10_000, 5_000, 5_000)]


def test_calls_into_the_system_by_thread(library: Library, publish: Publish) -> None:
    calls = [osrt(0, 6, 0, 30_000), osrt(1, 6, 40_000, 50_000, WORKER), osrt(2, 11, 0, 60_000, event_class=31)]
    rows = run(library, publish(lambda db: fill(db, osrt_call=calls)), "osrt_threads")
    assert picked(rows, "thread", "function", "waits", "total_ns", "thread_pct", "calls") == [
        ("7 / 70", "sem_wait", True, 30_000, 100, 1), ("7 / 71", "sem_wait", True, 10_000, 100, 1),
    ]  # fmt: skip


def test_launches_by_their_place_in_the_program(library: Library, publish: Publish) -> None:
    """In a chain with the driver, a package and the program, the place is the program's function."""
    stacks = {
        7: ((106, 124), (105, 123), (104, 122), (101, 122)), 8: ((106, 124), (105, 123)),
        9: ((106, 124), (102, 120), (101, 120)),
    }  # fmt: skip

    def write(db: duckdb.DuckDBPyConnection) -> None:
        kernels = [kernel(n, 1, 10_000 * n + 10, 10_000 * n + 1_010, call_id=n) for n in range(4)]
        calls = [call(n, 1, 10_000 * n, 10_000 * n + 5, callchain_id=chain) for n, chain in enumerate((7, 7, 8, 9))]
        fill(db, kernel=kernels, api_call=[*calls, call(9, 1, 50_000, 50_005)])
        insert(db, "string", [{"string_id": number, "value": value} for number, value in NAMES.items()])
        insert(db, "callchain", frames("cuda", stacks) + frames("sample", {9: ((103, 121),)}))

    rows = run(library, publish(write), "launch_sites")
    assert picked(rows, "site", "module", "inner", "function", "calls", "operations", "gpu_ns", "cuda_ns") == [
        ("forward", "train.py", "linear", "cudaLaunchKernel", 2, 2, 2_000, 10),
        ("linear", "nn.py", "linear", "cudaLaunchKernel", 1, 1, 1_000, 5),
        ("train", "program", "train", "cudaLaunchKernel", 1, 1, 1_000, 5),
    ]


PYTHON = (
    (1, 0, "prepare", "/work/images.py", 41), (1, 1, "fetch", "/lib/site-packages/torch/fetch.py", 54),
    (1, 2, "step", "/work/train.py", 63), (2, 0, "forward", "/lib/site-packages/torch/nn.py", 7),
    (2, 1, "step", "/work/train.py", 65),
)  # fmt: skip


def python(db: duckdb.DuckDBPyConnection) -> None:
    """The same GPU; a Python thread that is sampled before, in and after its gap, and launches both kernels."""
    kernels = [kernel(0, 1, 10_000, 20_000, call_id=0), kernel(1, 1, 80_000, 90_000, call_id=1)]
    calls = [call(0, 1, 5_000, 6_000), call(1, 1, 75_000, 76_000, callchain_id=9), call(2, 1, 77_000, 78_000)]
    fill(db, 100_000, ((10_000, 20_000), (80_000, 90_000)), kernel=kernels, api_call=calls)
    taken = [
        ("sample", 5_000, 2),
        ("sample", 30_000, 1),
        ("sample", 85_000, 2),
        ("cuda", 5_000, 2),
        ("cuda", 75_000, 2),
    ]
    rows = [{"kind": kind, "time_ns": t, "global_tid": MAIN, "stack_id": stack} for kind, t, stack in taken]
    insert(db, "python_sample", rows)
    names = ("stack_id", "depth", "function", "file", "line")
    insert(db, "python_frame", [dict(zip(names, frame, strict=True)) for frame in PYTHON])
    insert(db, "string", [{"string_id": number, "value": value} for number, value in NAMES.items()])
    insert(db, "callchain", frames("cuda", {9: ((102, 120),)}))


def test_samples_of_python(library: Library, publish: Publish) -> None:
    report = publish(python)
    rows = run(library, report, "cpu_functions", source="python")
    assert picked(rows, "function", "module", "self_samples", "total_samples") == [
        ("forward", "nn.py", 2, 2), ("prepare", "images.py", 1, 1), ("step", "train.py", 0, 3),
        ("fetch", "fetch.py", 0, 1),
    ]  # fmt: skip
    idle = run(library, report, "cpu_functions", source="python", moments="idle")
    assert picked(idle, "function", "self_samples") == [("prepare", 1), ("fetch", 0), ("step", 0)]
    assert run(library, report, "cpu_functions") == []
    tree = run(library, report, "cpu_tree", source="python")
    assert picked(tree, "level", "function", "samples")[:2] == [(0, "7 / 70", 3), (1, "step", 3)]


def test_python_back_traces_come_before_native_ones(library: Library, publish: Publish) -> None:
    """``step`` makes both launches; the third call has no back trace and is in no row."""
    rows = run(library, publish(python), "launch_sites")
    assert picked(rows, "site", "module", "inner", "calls", "operations", "gpu_ns") == [
        ("step", "train.py:65", "forward", 2, 2, 20_000)
    ]


def test_the_file_for_speedscope(library: Library, publish: Publish, capsys: pytest.CaptureFixture[str]) -> None:
    """As its specification demands: indices of frames, the outermost first, and as many weights as samples."""
    report = publish(samples)
    status = command.main(["export_speedscope", report, "--library", str(library.folder)])
    file = json.loads(capsys.readouterr().out)
    assert status == 0
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in file["shared"]["frames"]]
    assert len(names) == len({tuple(sorted(frame.items())) for frame in file["shared"]["frames"]})
    for profile in file["profiles"]:
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "none", 0)
        assert len(profile["samples"]) == len(profile["weights"]) == profile["endValue"] == sum(profile["weights"])
        assert all(0 <= index < len(names) for stack in profile["samples"] for index in stack)
    first, second = file["profiles"]
    assert (first["name"], second["name"]) == ("7 / 70", "7 / 71")
    assert [[names[index] for index in stack] for stack in first["samples"]] == [
        ["main", "train", "decode"], ["main", "train", "decode"], ["main", "train"], ["main", "decode", "decode"],
    ]  # fmt: skip
    idle = speedscope.make_document(library, report, {"moments": "idle"})
    assert sum(profile["endValue"] for profile in idle["profiles"]) == 3


def test_a_file_for_speedscope_is_written(library: Library, publish: Publish, tmp_path: Any) -> None:
    target = tmp_path / "one.json"
    argv = ["export_speedscope", publish(samples), "-o", str(target), "--library", str(library.folder)]
    assert command.main(argv) == 0
    assert json.loads(target.read_text(encoding="utf-8"))["exporter"] == "warpdeck"
    assert command.main([*argv[:3], str(tmp_path / "no" / "one.json"), *argv[4:]]) == 1


@EVERY_REPORT
def test_it_holds_for_every_report(every_report: Library, name: str) -> None:
    """Self samples add up to all samples; each function's total includes its callees."""
    manifest = every_report.find(name)
    try:
        rows = run(every_report, manifest.id, "host_threads", limit=10**6)
    except NotCapturedError:
        assert not {"cpu_sample", "sched_event", "osrt_call", "api_call"} & set(manifest.rows)
        return
    taken = manifest.rows.get("cpu_sample", 0)
    assert sum(row["samples"] or 0 for row in rows) == taken
    for row in rows:
        assert (row["idle_samples"] or 0) <= (row["samples"] or 0)
    if not taken:
        return
    functions = run(every_report, manifest.id, "cpu_functions", limit=10**6)
    assert sum(row["self_samples"] for row in functions) == taken
    tree = {row["node_id"]: row for row in run(every_report, manifest.id, "cpu_tree", limit=10**6)}
    assert sum(row["self_samples"] for row in tree.values()) == taken
    inside: dict[int, int] = {}
    for row in tree.values():
        if row["parent_id"]:
            inside[row["parent_id"]] = inside.get(row["parent_id"], 0) + row["samples"]
    assert all(row["samples"] == row["self_samples"] + inside.get(number, 0) for number, row in tree.items())
