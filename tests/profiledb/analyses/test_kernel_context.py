"""The context of a kernel, by hand: its neighbors in the stream, and the program lines that launch it."""

import duckdb

from profiledb.library.library import Library
from tests.support.page_reports import Publish, insert, picked, run


def kernel(number: int, name: int, start: int, end: int, stream: int = 7) -> dict[str, int]:
    place = {"device_id": 0, "stream_id": stream, "global_pid": 1 << 24}
    return {"kernel_id": number, "name_id": name, "start_ns": start, "end_ns": end, "call_id": number} | place


def write(db: duckdb.DuckDBPyConnection, kernels: list[dict[str, int]]) -> None:
    names = [{"name_id": n, "demangled": f"{c}()", "short": c, "class": "other"} for n, c in enumerate("abc", 1)]
    insert(db, "kernel_name", names)
    insert(db, "kernel", kernels)


def test_neighbors_are_those_of_the_same_stream(library: Library, publish: Publish) -> None:
    kernels = [
        kernel(1, 1, 0, 10), kernel(2, 2, 30, 40), kernel(3, 3, 40, 60),
        kernel(4, 1, 100, 110), kernel(5, 2, 105, 120), kernel(6, 3, 121, 141),
        kernel(7, 3, 15, 20, stream=8),
    ]  # fmt: skip
    report = publish(lambda db: write(db, kernels))
    rows = run(library, report, "kernel_neighbors", kernel=2)
    assert picked(rows, "side", "name", "calls", "share_pct", "gap_ns", "avg_ns") == [
        ("before", "a", 2, 100, 10, 10),  # 20 ns, and an overlap, which is no gap
        ("after", "c", 2, 100, 0.5, 20),
    ]
    assert picked(run(library, report, "kernel_neighbors", kernel=1), "side", "name") == [
        ("before", "c"),
        ("after", "b"),
    ]
    assert run(library, report, "kernel_neighbors", kernel="no such kernel") == []


def test_the_line_is_that_of_the_call(library: Library, publish: Publish) -> None:
    """The program's innermost frame at the launch, not a package's; clock samples do not count."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        write(db, [kernel(1, 1, 100, 110), kernel(2, 1, 200, 240), kernel(3, 1, 300, 305), kernel(4, 2, 400, 405)])
        insert(
            db,
            "api_call",
            [{"call_id": n, "start_ns": 10 * n, "end_ns": 10 * n + 5, "global_tid": 9} for n in (1, 2, 3, 4)],
        )
        stacks = [("cuda", 10, 1), ("cuda", 20, 2), ("sample", 30, 1), ("cuda", 40, 1)]
        insert(db, "python_sample", [
            {"kind": kind, "time_ns": time, "global_tid": 9, "stack_id": stack} for kind, time, stack in stacks
        ])  # fmt: skip
        frames = [
            (1, 0, "linear", "/usr/lib/python3.11/site-packages/torch/nn.py", 7),
            (1, 1, "step", "/home/me/train.py", 45), (1, 2, "main", "/home/me/train.py", 90),
            (2, 0, "loss", "/home/me/loss.py", 12),
        ]  # fmt: skip
        insert(db, "python_frame", [
            {"stack_id": stack, "depth": depth, "function": name, "file": file, "line": line}
            for stack, depth, name, file, line in frames
        ])  # fmt: skip

    rows = run(library, publish(fill), "kernel_lines", kernel=1)
    assert picked(rows, "line", "calls", "total_ns", "share_pct") == [
        ("loss.py(12): loss", 1, 40, 100 * 40 / 55),
        ("train.py(45): step", 1, 10, 100 * 10 / 55),
    ]
