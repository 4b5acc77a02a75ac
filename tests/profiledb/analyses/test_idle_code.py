"""The CPU's code while a GPU was idle: made-up call chains, and real reports with CPU samples."""

from typing import Any

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.summary.idle import find_code
from tests.support.every_report import EVERY_REPORT
from tests.support.memory_reports import MAIN, WORKER, call, fill
from tests.support.page_reports import Publish, insert, kernel, picked, run

NAMES = {
    100: "_start", 101: "main", 102: "train", 103: "decode(jpeg)", 104: "0x7f00aa",
    105: "__libc_start_main@@GLIBC_2.34", 106: "_PyEval_EvalFrameDefault", 107: "[Broken backtraces]",
    120: "/opt/app/program", 121: "/usr/lib/libc.so.6", 122: "/usr/bin/python3.12", 123: "C:\\code\\loader.dll",
}  # fmt: skip

Frame = tuple[int | None, int | None]


def chain(number: int, *frames: Frame, unresolved: bool = False) -> list[dict[str, Any]]:
    """A call chain of symbols and modules, the innermost first."""
    return [
        {"kind": "sample", "callchain_id": number, "depth": depth, "symbol_id": symbol, "module_id": module}
        | {"unresolved": unresolved and depth == 0}
        for depth, (symbol, module) in enumerate(frames)
    ]


def sample(number: int, time_ns: int, tid: int = MAIN) -> dict[str, Any]:
    return {"sample_id": number, "time_ns": time_ns, "global_tid": tid, "cpu": 0}


def write(
    db: duckdb.DuckDBPyConnection, samples: list[dict[str, Any]], chains: list[dict[str, Any]], **more: Any
) -> None:
    """A GPU that is idle from 10 to 100 µs, its next launch from 90 to 95; a synchronization from 20 to 30."""
    kernels = [kernel(0, 1, 0, 10_000, call_id=0), kernel(1, 1, 100_000, 120_000, call_id=1)]
    calls = [call(0, 1, 0, 1_000), call(2, 2, 20_000, 30_000), call(1, 1, 90_000, 95_000)]
    fill(db, 120_000, ((0, 10_000), (100_000, 120_000)), kernel=kernels, api_call=calls, cpu_sample=samples, **more)
    insert(db, "string", [{"string_id": number, "value": value} for number, value in NAMES.items()])
    insert(db, "callchain", chains)


PROGRAM: tuple[Frame, ...] = ((102, 120), (101, 120), (105, 121), (100, 120))
"""train, called by main and what starts it."""


def test_samples_of_the_launching_thread_outside_calls(library: Library, publish: Publish) -> None:
    """Host code runs from 10 to 20 and from 30 to 90 µs: four samples lie in it, and all others do not count."""
    inside = [sample(1, 10_000), sample(2, 19_999), sample(3, 40_000), sample(4, 89_999)]
    outside = [sample(5, 9_999), sample(6, 25_000), sample(7, 92_000), sample(8, 97_000), sample(9, 40_000, WORKER)]
    chains = [
        *chain(1, (103, 123), *PROGRAM), *chain(2, (103, 123), *PROGRAM), *chain(3, (104, 121), *PROGRAM),
        *chain(4, *PROGRAM), *(frame for number in range(5, 10) for frame in chain(number, (101, 120))),
    ]  # fmt: skip
    rows = run(library, publish(lambda db: write(db, inside + outside, chains)), "idle_code")
    assert picked(rows, "function", "module", "called_from", "samples", "share_pct") == [
        ("decode(jpeg)", "loader.dll", "train", 2, 50),
        ("[libc.so.6]", "libc.so.6", "train", 1, 25),
        ("train", "program", "main", 1, 25),
    ]
    # The main thread is sampled at 9.999, 10, 19.999, 25, 40, 89.999, 92 and 97 µs: the median distance is 5.001 µs
    assert [row["time_ns"] for row in rows] == [10_002, 5_001, 5_001]


def test_times_together_are_no_longer_than_the_host_code(library: Library, publish: Publish) -> None:
    """Two samples 60 µs apart would make 120 µs of the 70 µs of host code."""
    rows = run(library, publish(lambda db: write(db, [sample(1, 15_000), sample(2, 75_000)], [])), "idle_code")
    assert picked(rows, "function", "module", "called_from", "samples", "time_ns") == [
        ("[no symbol]", None, None, 2, 70_000)
    ]


def test_one_sample_tells_no_time(library: Library, publish: Publish) -> None:
    (row,) = run(library, publish(lambda db: write(db, [sample(1, 15_000)], chain(1, (102, None)))), "idle_code")
    assert (row["function"], row["module"], row["samples"], row["time_ns"]) == ("train", None, 1, None)


def test_the_interpreter_and_remarks_call_nothing(library: Library, publish: Publish) -> None:
    python: tuple[Frame, ...] = ((106, 122), (101, 122), (105, 121), (107, 107))
    chains = [*chain(1, (103, 120), (102, 120), *python), *chain(2, (103, 121), *python)]
    rows = run(library, publish(lambda db: write(db, [sample(1, 15_000), sample(2, 16_000)], chains)), "idle_code")
    assert picked(rows, "function", "module", "called_from") == [
        ("decode(jpeg)", "libc.so.6", None), ("decode(jpeg)", "program", "train"),
    ]  # fmt: skip


def test_a_symbol_that_is_only_near_is_none(library: Library, publish: Publish) -> None:
    chains = chain(1, (103, 121), *PROGRAM, unresolved=True)
    (row,) = run(library, publish(lambda db: write(db, [sample(1, 15_000)], chains)), "idle_code")
    assert (row["function"], row["called_from"]) == ("[libc.so.6]", "train")


def test_the_caller_is_that_of_most_chains(library: Library, publish: Publish) -> None:
    chains = [*chain(1, (103, 120), (102, 120)), *chain(2, (103, 120)), *chain(3, (103, 120))]
    samples = [sample(1, 15_000), sample(2, 16_000), sample(3, 17_000)]
    (row,) = run(library, publish(lambda db: write(db, samples, chains)), "idle_code")
    assert (row["samples"], row["called_from"]) == (3, None)


def test_rows_that_repeat_multiply_nothing(library: Library, publish: Publish) -> None:
    """In an export that repeats the id of a sample and its frames, each sample counts once."""
    chains = [*chain(1, (103, 120), (102, 120)), *chain(1, (104, 121), (101, 120))] * 50
    samples = [sample(1, 15_000 + n) for n in range(60)]
    rows = run(library, publish(lambda db: write(db, samples, chains)), "idle_code")
    assert sum(row["samples"] for row in rows) == 60
    assert sum(row["share_pct"] for row in rows) == pytest.approx(100)


def test_a_selection_and_short_gaps(library: Library, publish: Publish) -> None:
    samples = [sample(n, 10_000 + 1_000 * n) for n in range(80)]
    report = publish(lambda db: write(db, samples, [f for n in range(80) for f in chain(n, (102, 120))]))
    (whole,) = run(library, report, "idle_code")
    assert whole["samples"] == 70  # one a µs of the host code
    (part,) = run(library, report, "idle_code", from_ns=5_000, to_ns=50_000)
    assert part["samples"] == 30
    assert run(library, report, "idle_code", min_ns=100_000) == []
    assert run(library, report, "idle_code", limit=0) == []


def test_python_stacks_tell_where_there_are_some(library: Library, publish: Publish) -> None:
    """Three Python samples of the launching thread are in host code; CPU samples say less, and call stacks are none."""
    packages = "/usr/lib/python3.12/site-packages/torch/nn.py"
    stacks: dict[int, tuple[tuple[str, str], ...]] = {
        1: (("resize", packages), ("prepare", "/code/images.py"), ("main", "/code/run.py")),
        2: (("read", "/code/a.py"),),
    }
    frames = [
        {"stack_id": number, "depth": depth, "function": function, "file": file, "line": 1}
        for number, stack in stacks.items()
        for depth, (function, file) in enumerate(stack)
    ]  # fmt: skip
    taken = [(15_000, "sample", 1, MAIN), (40_000, "sample", 1, MAIN), (50_000, "sample", 2, MAIN)]
    outside = [(25_000, "sample", 2, MAIN), (60_000, "sample", 2, WORKER), (70_000, "cuda", 2, MAIN)]
    samples = [
        {"kind": kind, "time_ns": at, "global_tid": tid, "stack_id": stack, "thread_state": "Running"}
        for at, kind, stack, tid in (*taken, *outside)
    ]

    def fill_in(db: duckdb.DuckDBPyConnection) -> None:
        write(db, [sample(1, 15_000)], chain(1, (103, 120), *PROGRAM), python_sample=samples, python_frame=frames)

    report = publish(fill_in)
    rows = run(library, report, "idle_code")
    assert picked(rows, "function", "module", "called_from", "source", "samples") == [
        ("resize", "nn.py", "prepare", "Python", 2), ("read", "a.py", None, "Python", 1)
    ]  # fmt: skip
    (native,) = run(library, report, "idle_code", source="cpu")
    assert (native["function"], native["source"]) == ("decode(jpeg)", "CPU")


def test_without_samples_the_command_is_told(library: Library, gaps: str) -> None:
    with pytest.raises(NotCapturedError, match="CPU samples") as error:
        run(library, gaps, "idle_code")
    assert "warpdeck profile --with samples -- " in error.value.hint


def test_only_a_clear_function_is_named(library: Library, publish: Publish) -> None:
    def sentence(first: int, second: int) -> str:
        samples = [sample(n, 31_000 + 10 * n) for n in range(first + second)]
        chains = [f for n in range(first) for f in chain(n, (103, 120), *PROGRAM)]
        chains += [f for n in range(first, first + second) for f in chain(n, *PROGRAM)]
        report = publish(lambda db: write(db, samples, chains))
        return find_code(analysis.run(library, report, "idle_code"))

    assert sentence(15, 5) == "75.0 % of the CPU samples in these gaps are in `decode(jpeg)`, called from `train`."
    assert sentence(14, 5) == ""  # 19 samples
    assert sentence(10, 10) == "50.0 % of the CPU samples in these gaps are in `decode(jpeg)`, called from `train`."
    assert sentence(30, 31) == "50.8 % of the CPU samples in these gaps are in `train`, called from `main`."


@EVERY_REPORT
def test_it_holds_for_every_report(every_report: Library, name: str) -> None:
    """Shares add up to all, and the time of the samples is part of the time in host code."""
    manifest = every_report.find(name)
    try:
        rows = run(every_report, manifest.id, "idle_code", limit=10**9)
    except NotCapturedError:
        assert not {"cpu_sample", "python_sample"} & set(manifest.rows) or not {
            "kernel",
            "memop",
            "graph_launch",
        } & set(manifest.rows)
        return
    if rows:
        reasons = {row["reason"]: row["idle_ns"] for row in run(every_report, manifest.id, "idle_reasons")}
        assert sum(row["share_pct"] for row in rows) == pytest.approx(100)
        assert sum(row["time_ns"] or 0 for row in rows) <= reasons["host code"] + len(rows)
        taken = "python_sample" if rows[0]["source"] == "Python" else "cpu_sample"
        assert sum(row["samples"] for row in rows) <= manifest.rows[taken]
