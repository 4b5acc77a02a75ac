"""NCCL operations: kernel names in every spelling, bytes by call and by group."""

import json
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import views
from tests.support.page_reports import Publish, insert, kernel, name, picked, run

PLACES = "operation, data_type, algorithm, protocol"
SPELLINGS = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL": ("AllReduce", "f32", "RING", "LL"),
    "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL": ("AllReduce", "bf16", "TREE", "LL"),
    "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL": ("ReduceScatter", "f16", "RING", "LL"),
    "ncclDevKernel_AllGather_RING_LL": ("AllGather", None, "RING", "LL"),
    "ncclDevKernel_Broadcast_RING_LL": ("Broadcast", None, "RING", "LL"),
    "ncclDevKernel_Reduce_Sum_u8_RING_LL": ("Reduce", "u8", "RING", "LL"),
    "ncclDevKernel_SendRecv": ("SendRecv", None, None, None),
    "ncclDevKernel_Generic_4": ("other", None, None, None),
    "ncclKernel_AllReduce_RING_LL_Sum_float": ("AllReduce", "f32", "RING", "LL"),
    "ncclKernel_AllReduce_NVLS_TREE_SIMPLE_Sum___nv_bfloat16": ("AllReduce", "bf16", "NVLS_TREE", "SIMPLE"),
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t": ("SendRecv", "i8", "RING", "SIMPLE"),
    "ncclKernel_AllGather_RING_LL128_Sum_int8_t": ("AllGather", "i8", "RING", "LL128"),
    "ncclAllReduceRingLLKernel_sum_f32": ("AllReduce", "f32", "RING", "LL"),
    "ncclReduceScatterTreeLL128Kernel_sum_i64": ("ReduceScatter", "i64", "TREE", "LL128"),
    "ncclBroadcastRingKernel_copy_i8": ("Broadcast", "i8", "RING", None),
}


def test_names_of_kernels(library: Library, publish: Publish) -> None:
    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "kernel_name", [name(n, short) for n, short in enumerate(SPELLINGS)])
        insert(db, "kernel_name", [name(100, "gemm")])
        insert(db, "kernel", [kernel(n, n, 10 * n, 10 * n + 5) for n in range(len(SPELLINGS))])
        insert(db, "kernel", [kernel(100, 100, 0, 5)])

    found = run(library, publish(fill), "nccl_ops", steps="nothing")
    told = {row["kernel"]: tuple(row[column] for column in PLACES.split(", ")) for row in found}
    assert told == SPELLINGS
    assert all(row["bytes"] is None and row["algbw_gb_per_s"] is None for row in found)


ALL, GATHER, SENDS, OTHER = range(1, 5)
NAMES = ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_SendRecv", "gemm"]


def publish_calls(
    publish: Publish, calls: list[tuple[str, int | None]], launches: list[tuple[int, int]], meta: str = ""
) -> str:
    """A report of calls into NCCL one after the other (name, bytes) and kernels (kind, number of the call, from 0)."""

    def payload(size: int | None, what: str) -> str | None:
        said = {"NCCL communicator ID": 2**63 + 5, "Message size [bytes]": size, "Reduction operation": "Avg"}
        if what == "ncclCommInitRank":
            said = {"NCCL communicator ID": 2**63 + 5, "No. of ranks": 8, "Rank": 0}
        return None if size is None else json.dumps(said)

    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "kernel_name", [name(n, short) for n, short in enumerate(NAMES, 1)])
        texts = sorted({what for what, _ in calls})
        insert(db, "range_name", [{"name_id": n, "domain": "NCCL", "text": t, "name": t} for n, t in enumerate(texts)])
        insert(
            db,
            "range",
            [
                {
                    "range_id": n,
                    "start_ns": 100 * n,
                    "end_ns": 100 * n + 90,
                    "closed": True,
                    "name_id": texts.index(what),
                }
                | {"global_tid": 70, "pre": n + 1, "post": n + 1, "payload_json": payload(size, what)}
                for n, (what, size) in enumerate(calls)
            ],
        )
        insert(
            db,
            "kernel",
            [
                kernel(n, kind, 100 * n, 100 * n + 50, thread_range=call + 1, call_id=n)
                for n, (kind, call) in enumerate(launches)
            ],
        )

    return publish(fill)


MORE = pytest.mark.slow("more groups of calls")
START, END = ("ncclGroupStart", None), ("ncclGroupEnd", None)


@pytest.mark.parametrize(
    ("calls", "launches", "expected"),
    [
        ([("ncclAllReduce", 64)], [(ALL, 0)], [64]),
        pytest.param([("ncclAllReduce", None)], [(ALL, 0)], [None], marks=MORE),
        pytest.param([START, ("ncclAllReduce", 10), ("ncclAllReduce", 20), END], [(ALL, 3)], [30], marks=MORE),
        pytest.param([START, ("ncclAllReduce", 10), ("ncclAllReduce", None), END], [(ALL, 3)], [None], marks=MORE),
        pytest.param(
            [START, ("ncclAllReduce", 10), ("ncclAllReduce", 20), END], [(ALL, 3), (ALL, 3)], [10, 20], marks=MORE
        ),
        ([START, *[("ncclAllReduce", 10)] * 3, END], [(ALL, 4), (ALL, 4)], [None, None]),
        ([START, ("ncclAllReduce", 10), ("ncclAllGather", 7), END], [(ALL, 3), (GATHER, 3)], [10, 7]),
        pytest.param([START, ("ncclSend", 10), ("ncclRecv", 10), ("ncclSend", 5), END], [(SENDS, 4)], [15], marks=MORE),
        pytest.param(
            [START, ("ncclAllReduce", 1), END, START, ("ncclAllReduce", 2), END],
            [(ALL, 2), (ALL, 5)],
            [1, 2],
            marks=MORE,
        ),
        ([START, START, ("ncclAllReduce", 1), END, ("ncclAllReduce", 2), END], [(ALL, 5)], [3]),
        pytest.param([("ncclAllReduce", 9), START, ("ncclAllReduce", 2), END], [(ALL, 3)], [2], marks=MORE),
    ],
)
def test_bytes_of_calls_and_groups(
    library: Library, publish: Publish, calls: list[Any], launches: list[Any], expected: list[int | None]
) -> None:
    found = run(library, publish_calls(publish, calls, launches), "nccl_ops", steps="nothing")
    assert [row["bytes"] for row in found] == expected


def test_a_size_is_the_whole_of_the_parts(library: Library, publish: Publish) -> None:
    calls: list[tuple[str, int | None]] = [("ncclAllGather", 100), ("ncclAllReduce", 100)]
    report = publish_calls(publish, calls, [(GATHER, 0), (ALL, 1)])
    assert picked(run(library, report, "nccl_ops", steps="nothing"), "size_bytes", "ranks", "algbw_gb_per_s") == [
        (None, None, None), (100, None, 2.0),
    ]  # fmt: skip
    library.put_sidecar(report, "meta", '{"ranks": "4"}')
    assert picked(run(library, report, "nccl_ops", steps="nothing"), "size_bytes", "ranks") == [(400, 4), (100, 4)]
    report = publish_calls(publish, [("ncclCommInitRank", 0), *calls], [(GATHER, 1), (ALL, 2)])
    found = run(library, report, "nccl_ops", steps="nothing")
    assert picked(found, "size_bytes", "ranks", "reduction") == [(800, 8, "Avg"), (100, 8, "Avg")]
    assert found[0]["communicator"] == str(2**63 + 5)
    assert picked(run(library, report, "nccl_sum"), "operation", "count", "total_ns", "bytes", "algbw_gb_per_s") == [
        ("AllGather", 1, 50, 800, 16.0), ("AllReduce", 1, 50, 100, 2.0),
    ]  # fmt: skip


def test_a_payload_that_is_no_json_is_unknown(library: Library, publish: Publish) -> None:
    report = publish_calls(publish, [("ncclAllReduce", 64)], [(ALL, 0)])
    with library.cursor(report, views=views.list_all()) as db:
        assert db.execute("SELECT payload_value('{nonsense', 'a'), payload_value(NULL, 'a')").fetchone() == (None, None)


COLLECTIVES: list[tuple[str, str, int, int, str, int | None, int | None]] = [
    # name, dtype, elements in and out; operation is that of the name, bytes of one rank's part, size
    ("allreduce", "BFloat16", 100, 100, "AllReduce", 200, 200),
    ("_allgather_base", "Float", 10, 40, "AllGather", 40, 160),
    ("reduce_scatter_tensor", "Half", 40, 10, "ReduceScatter", 20, 80),
    ("all_to_all", "Double", 40, 40, "AlltoAll", 80, 320), ("send", "Byte", 7, 7, "SendRecv", 7, 7),
    ("broadcast", "Mystery", 7, 7, "Broadcast", None, None), ("allreduce", "Float", 2**62, 1, "AllReduce", None, None),
]  # fmt: skip


def test_what_the_profiler_of_pytorch_says_of_collectives(library: Library, publish: Publish) -> None:
    """The kernel names say nothing; for the last kernel, only the collective around its launch does."""
    columns = "name", "dtype", "in_elements", "out_elements"

    def fill(db: Any) -> None:
        insert(db, "report", [{"kind": "torch"}])
        insert(db, "kernel_name", [name(1, "ncclDevKernel_Generic_4")])
        insert(db, "kernel", [kernel(n, 1, 100 * n, 100 * n + 50, thread_range=5) for n in range(len(COLLECTIVES))])
        group = {"process_group": "0", "ranks": "[0, 1, 2, 3]", "group_size": 4}
        for n, one in enumerate(COLLECTIVES):
            known = dict(zip(columns, one, strict=False)) | group
            insert(db, "collective", [known | {"kernel_id": n, "sequence_number": 10 + n}])
        insert(db, "kernel", [kernel(99, 1, 9_000, 9_010, thread_range=8)])
        insert(db, "range", [{"range_id": 3, "start_ns": 0, "end_ns": 9, "pre": 7, "post": 8, "global_tid": 70}])
        insert(db, "collective", [dict(zip(columns, COLLECTIVES[0], strict=False)) | group | {"range_id": 3}])

    found = run(library, publish(fill, "torch"), "nccl_ops", steps="nothing")
    wanted = [(*one[4:], 10 + n) for n, one in enumerate(COLLECTIVES)] + [("AllReduce", 200, 200, None)]
    assert picked(found, "operation", "bytes", "size_bytes", "sequence") == wanted
    assert {(row["communicator"], row["ranks"], row["calls"]) for row in found} == {("0 [0, 1, 2, 3]", 4, 1)}
