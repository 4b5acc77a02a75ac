"""Rules about programs on several GPUs, on small made-up captures: no available report has these faults."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from profiledb.findings import judge, rulebook, sentences
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import ranges
from tests.support.judged_rules import Span, bare, judged
from tests.support.memory_reports import MAIN, PID, call, copy
from tests.support.page_reports import H100, Publish, insert, kernel, name

US = 1_000
MORE = pytest.mark.slow("judges more captures by hand")
GEMM, REDUCED, SENT, LISTED = 1, 3, 4, 5
NAMES = [
    name(REDUCED, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
    name(SENT, "ncclDevKernel_SendRecv", "communication"),
    name(LISTED, "ncclDevKernel_AllReduce_Sum_u32_RING_LL", "communication"),
]
Ran = tuple[int, int, int]
"""A kernel: its name, and begin and end in µs."""
Ranks = Callable[..., str]


@pytest.fixture(name="ranks")
def make_ranks(publish: Publish) -> Ranks:
    """Publishes a capture of kernels of one GPU, those of NCCL on a stream of their own, and rows of other tables."""

    def ranks(ran: list[Ran], inside: dict[int, int] | None = None, **tables: Any) -> str:
        inside = inside or {}
        work = [
            kernel(
                i, one, a * US, b * US, stream_id=7 if one == GEMM else 8, global_pid=PID, call_id=1000 + i,
                process_range=inside.get(i),
            )
            for i, (one, a, b) in enumerate(ran)
        ]  # fmt: skip
        calls = [call(1000 + i, 1, (a - 3) * US, (a - 1) * US, tid=MAIN) for i, (_, a, _) in enumerate(ran)]
        moved = [(one["start_ns"], one["end_ns"]) for one in tables.get("memop", [])]
        busy = tuple(sorted([*moved, *((a * US, b * US) for _, a, b in ran)]))
        gpus = tables.pop("gpu", [])

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "kernel_name", NAMES)
            insert(db, "gpu", gpus)
            made.fill(db, stop=max(b for _, b in busy), busy=busy, kernel=work, api_call=calls, **tables)

        return publish(fill)

    return ranks


Two = tuple[int, int, int, int, int]
"""A kernel: its name, begin and end, GPU, and the time at which its launch returned, in µs."""


@pytest.fixture(name="two")
def make_two(publish: Publish) -> Ranks:
    """Publishes a capture of kernels of two GPUs, which one thread launches."""

    def two(ran: list[Two], **tables: Any) -> str:
        work = [
            kernel(i, one, a * US, b * US, device_id=gpu, stream_id=7 if one == GEMM else 8, global_pid=PID, call_id=i)
            for i, (one, a, b, gpu, _) in enumerate(ran, 1)
        ]
        calls = [call(i, 1, (end - 1) * US, end * US, tid=MAIN) for i, (*_, end) in enumerate(ran, 1)]
        calls += tables.pop("api_call", [])

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "kernel_name", NAMES)
            made.fill(db, stop=max(b for _, _, b, _, _ in ran) * US, kernel=work, api_call=calls, **tables)
            insert(db, "busy", [{"device_id": gpu, "start_ns": a * US, "end_ns": b * US} for _, a, b, gpu, _ in ran])

        return publish(fill)

    return two


def spans(ran: list[Ran], *names: int) -> list[Span]:
    return [(a * US, b * US) for one, a, b in ran if one in names]


def step(number: int, reduces: int, each: int, apart: int = 0) -> list[Ran]:
    """500 µs of compute, then all-reduces, in 1.5 ms; ``apart``: so long compute before each further one."""
    begin, found = number * 1500, [(GEMM, number * 1500, number * 1500 + 500)]
    at = begin + 500
    for _ in range(reduces):
        if apart:
            found.append((GEMM, at, at + apart))
        found.append((REDUCED, at + apart, at + apart + each))
        at += apart + each
    return found


def steps(count: int) -> dict[str, Any]:
    return ranges(*((n * 1500 * US - 5 * US, (n + 1) * 1500 * US - 6 * US, f"step_{n}") for n in range(count)))


def test_small_buckets(library: Library, ranks: Ranks) -> None:
    """Four steps of ten all-reduces of 30 µs: with an eighth as many, 35 of 40 go, each with the shortest time."""
    ran = [one for n in range(4) for one in step(n, 10, 30)]
    found = judged(library, ranks(ran, **steps(4)), "small_buckets")
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", "buckets", 35 * 30 * US)
    assert found.value == pytest.approx(100 * 35 * 30 / (3 * 1500 + 800))
    assert (found.facts["collectives"], found.facts["step_collectives"], found.facts["each_ns"]) == (40, 10, 30 * US)
    assert found.facts["bare_ns"] == bare(spans(ran, REDUCED), spans(ran, GEMM)) == 1200 * US
    hidden = [*ran, *((GEMM, n * 1500 + 500, n * 1500 + 800) for n in range(4))]
    assert judged(library, ranks(hidden, **steps(4)), "small_buckets").saving_ns == 0, "compute runs beside them"


@MORE
def test_other_buckets(library: Library, ranks: Ranks) -> None:
    large = [one for n in range(4) for one in step(n, 9, 110)]
    assert judged(library, ranks(large, **steps(4)), "small_buckets").verdict == "clear"
    few = [one for n in range(4) for one in step(n, 7, 30)]
    assert judged(library, ranks(few, **steps(4)), "small_buckets").verdict == "clear"
    parallel = [one for n in range(4) for one in step(n, 10, 30, apart=20)]
    assert judged(library, ranks(parallel, **steps(4)), "small_buckets").verdict == "clear", "compute waits for each"
    assert "no all-reduces" in judged(library, ranks([(GEMM, 0, 10)]), "small_buckets").why


@MORE
def test_sizes_tell_small_buckets_from_slow_links(library: Library, ranks: Ranks) -> None:
    """All-reduces of 300 µs and 1 MB each: 40 of them fit into two of 25 MB. At 10 MB each, they are large enough."""
    ran = [one for n in range(4) for one in step(n, 10, 90)]
    numbers = [i for i, (one, _, _) in enumerate(ran) if one == REDUCED]

    def sized(elements: int) -> list[dict[str, Any]]:
        told = {"name": "allreduce", "dtype": "Float", "in_elements": elements, "out_elements": elements}
        return [{"kernel_id": i, "range_id": i} | told for i in numbers]

    found = judged(library, ranks(ran, collective=sized(250_000), **steps(4)), "small_buckets")
    assert (found.verdict, found.saving_ns, found.facts["each_bytes"]) == ("fires", 38 * 90 * US, 1_000_000)
    large = judged(library, ranks(ran, collective=sized(2_500_000), **steps(4)), "small_buckets")
    assert large.verdict == "clear"


STAGE: list[Ran] = [
    *((GEMM, n * 300, n * 300 + 100) for n in range(9)),
    *((SENT, n * 300 + 100, n * 300 + (110 if n == 3 else 200)) for n in range(8)),
    (GEMM, 100, 150),  # beside the first one
]
"""The shortest of eight transfers takes 10 µs: the excess of the others is waiting, while nothing computes."""


def test_pipeline_bubbles(library: Library, ranks: Ranks) -> None:
    waits = [(a, b - 10 * US) for a, b in spans(STAGE, SENT)]
    found = judged(library, ranks(STAGE), "pipeline_bubbles")
    assert (found.verdict, found.saving_ns) == (
        "fires",
        bare([one for one in waits if one[1] > one[0]], spans(STAGE, GEMM)),
    )
    assert found.saving_ns == (7 * 90 - 50) * US
    assert found.value == pytest.approx(100 * (7 * 90 - 50) / 2500)
    assert (found.facts["transfers"], found.facts["shortest_ns"], found.facts["longest_ns"]) == (8, 10 * US, 100 * US)
    even = [one if one[0] == GEMM else (SENT, one[1], one[1] + 10) for one in STAGE]
    assert judged(library, ranks(even), "pipeline_bubbles").verdict == "clear"


@MORE
def test_what_else_tells_of_transfers(library: Library, ranks: Ranks) -> None:
    exposed = judged(library, ranks(STAGE), "exposed_communication")
    assert (exposed.cause, "Exchange data in" in exposed.rule.advised(exposed.cause, ["PyTorch", "DDP"])[0]) == (
        "exchange", True,
    ), "no buckets: it reduces nothing"  # fmt: skip
    assert "micro-batches" in exposed.rule.advised(exposed.cause, ["PyTorch", "pipeline parallel"])[0]
    numbers = [i for i, (one, _, _) in enumerate(STAGE) if one == SENT]
    exchange = [{"kernel_id": i, "range_id": i, "name": "all_to_all"} for i in numbers]
    other = judged(library, ranks(STAGE, collective=exchange), "pipeline_bubbles")
    assert (other.verdict, "too few transfers" in other.why) == ("cannot_judge", True)
    slow = judged(library, ranks(STAGE), "slow_collectives")
    assert slow.verdict != "fires", "a transfer that waits is no slow collective"


def late(number: int, computes: tuple[int, int] = (100, 130), launched: int = 20) -> list[Two]:
    """A round of 100 µs: GPU 0 waits in its all-reduce from 30 to 60 for GPU 1, then runs the kernel ``computes``."""
    at = number * 100
    return [
        (GEMM, at, at + 30, 1, at),
        (REDUCED, at + 30, at + 62, 0, at + 10),
        (REDUCED, at + 60, at + 62, 1, at + 60),
        (GEMM, at + computes[0], at + computes[1], 0, at + launched),
    ]


PAUSES = [call(500 + n, 2, (n * 100 + 62) * US, (n * 100 + 98) * US, tid=MAIN) for n in range(10)]


def metrics(begin: int, end: int) -> dict[str, Any]:
    """The range `metrics` in each of ten rounds, at this time of the round in µs."""
    return ranges(*((n * 100 * US + begin * US, n * 100 * US + end * US, "metrics") for n in range(10)))


def test_a_rank_that_is_late(library: Library, two: Ranks) -> None:
    """In each of ten rounds, GPU 0 waits 30 µs while the CPU of GPU 1 is in `metrics` and has launched nothing."""
    rounds = [one for n in range(10) for one in late(n)]
    pauses, inside = PAUSES, metrics(25, 59)
    found = judged(library, two(rounds, api_call=pauses, **inside), "rank_imbalance")
    assert (found.verdict, found.cause, found.facts["range"], found.facts["last_gpu"]) == (
        "fires", "late CPU", "metrics", 1,
    )  # fmt: skip
    assert (found.facts["wait_ns"], found.facts["late_ns"]) == (300 * US, 300 * US)
    assert found.facts["range_pct"] == pytest.approx(100 * 580 / 600), "of its wait and that of the others"
    assert "because it waits 300 µs for its CPU, 96.7 % of that in `metrics`" in sentences.says(found)
    assert found.saving_ns == 580 * US, "without the launches, of 1 µs each, in which it waits, too"
    assert found.value == pytest.approx(100 * 300 / (1000 + 962))
    assert rulebook.load()["rank_imbalance"].list_changes(found.cause) == ("host_code={range}",)


@MORE
def test_what_a_late_rank_does(library: Library, two: Ranks) -> None:
    rounds = [one for n in range(10) for one in late(n)]
    pauses, inside = PAUSES, metrics(25, 59)
    assert judged(library, two(rounds, api_call=pauses, **metrics(25, 50)), "rank_imbalance").saving_ns == 400 * US, (
        "the rest has other causes"
    )
    launching = judged(library, two(rounds, api_call=pauses, **metrics(40, 42)), "rank_imbalance")
    assert (launching.facts["late_ns"], launching.cause, launching.saving_ns) == (None, None, 300 * US), (
        "no range is it"
    )
    rule = rulebook.load()["rank_imbalance"]
    same = {**inside["range"][0], "global_tid": MAIN + 1, "range_id": 99, "pre": 99, "post": 99}
    same |= {"start_ns": 1, "end_ns": 300 * US}
    shared = judged(
        library, two(rounds, api_call=pauses, **inside | {"range": [*inside["range"], same]}), "rank_imbalance"
    )
    assert (shared.cause, rule.list_changes(shared.cause)) == ("slow CPU", ("balanced_ranks",)), "all do it"
    busy = [*rounds, *((GEMM, n * 100 + 30, n * 100 + 60, 1, n * 100) for n in range(10))]
    uneven = judged(library, two(busy, api_call=pauses), "rank_imbalance")
    assert (uneven.verdict, uneven.cause, uneven.saving_ns) == ("fires", None, 300 * US), "GPU 1 computes meanwhile"
    ahead = judged(library, two(rounds, **inside), "rank_imbalance").facts["wait_ns"]
    assert ahead == 110 * US, "a CPU that never waits has this time between its last launch and the end"


def test_collectives_that_wait_for_a_late_rank_have_one_finding(library: Library, two: Ranks) -> None:
    """GPU 0 waits 30 µs in every third round and 8 µs in the others: slow collectives are those that wait."""
    rounds = [one for n in range(10) for one in late(n)]
    waits = [(name_, a + 22 if gpu == 0 and name_ == REDUCED and a // 100 % 3 else a, *more, gpu, launched)
        for name_, a, *more, gpu, launched in rounds]  # fmt: skip
    waits += [(LISTED, n * 100 + 63, n * 100 + 93, gpu, n * 100 + 62) for n in range(10) for gpu in (0, 1)]
    rules = [rulebook.load()[one] for one in ("slow_collectives", "rank_imbalance")]
    found = judge.judge(library, library.find(two(waits)), {}, [replace(one, changes=()) for one in rules])
    assert [(one.rule.name, one.verdict, one.parent) for one in found] == [
        ("rank_imbalance", "fires", None), ("slow_collectives", "fires", "rank_imbalance"),
    ]  # fmt: skip


@MORE
def test_a_wait_that_holds_nothing_up(library: Library, two: Ranks) -> None:
    """GPU 0 computes until the wait is over, or its CPU launches the next work only later, or waits to launch it."""
    hidden = [one for n in range(10) for one in late(n, computes=(40, 70))]
    assert judged(library, two(hidden), "rank_imbalance").value == 0
    unlaunched = [one for n in range(10) for one in late(n, launched=95)]
    assert judged(library, two(unlaunched), "rank_imbalance").value == 0
    waits = [call(500 + n, 2, n * 100 * US + 20 * US, n * 100 * US + 90 * US, tid=MAIN) for n in range(10)]
    held = judged(library, two(unlaunched, api_call=waits), "rank_imbalance")
    assert (held.verdict, held.facts["wait_ns"]) == ("fires", 300 * US)


@pytest.mark.parametrize(("since", "bubble"), [pytest.param(0, 100, marks=MORE), (40, 60)])
def test_a_bubble_needs_another_stage_that_computes(library: Library, two: Ranks, since: int, bubble: int) -> None:
    """GPU 1 waits 100 µs for GPU 0 in seven of eight transfers; during part of that, no stage computes."""
    ran: list[Two] = []
    for n in range(8):
        at = n * 300
        ran += [(GEMM, at + since, at + 100, 0, at), (SENT, at + 100, at + 110, 0, at)]
        ran += [(SENT, at + (100 if n == 3 else 0), at + 110, 1, at), (GEMM, at + 110, at + 200, 1, at)]
    found = judged(library, two(ran), "pipeline_bubbles")
    assert (found.verdict, found.saving_ns) == ("fires", 7 * bubble * US)


def test_the_cpu_pays_for_small_buckets(library: Library, ranks: Ranks) -> None:
    """NCCL's ranges around each of 40 all-reduces take 20 µs of the CPU; the GPU is idle for far longer."""
    ran = [one for n in range(4) for one in step(n, 10, 30)]
    numbers = [i for i, (one, _, _) in enumerate(ran) if one == REDUCED]
    begun = [(ran[i][1] - 21) * US for i in numbers]
    told = [(n * 1500 * US - 5 * US, (n + 1) * 1500 * US - 6 * US, f"step_{n}") for n in range(4)]
    every = ranges(*told, *((at, at + 20 * US, "NCCL:ncclAllReduce") for at in begun))
    inside = {i: pre for pre, i in enumerate(numbers, len(told) + 1)}
    found = judged(library, ranks(ran, inside=inside, **every), "small_buckets")
    assert (found.facts["cpu_ns"], found.saving_ns) == (35 * 20 * US, 35 * (30 + 20) * US)


def test_slow_peer_copies(library: Library, ranks: Ranks) -> None:
    """45 MB in 1 ms on NVLink of 450 GB/s, of which half would take 200 µs: 800 µs of 1.1 ms, less what computes."""
    boards = [H100 | {"gpu_id": i, "name": "NVIDIA H100 80GB HBM3"} for i in (0, 1)]
    between = {"copy_kind": 10, "src_device_id": 0, "dst_device_id": 1, "operation": "[CUDA memcpy Peer-to-Peer]"}

    def copied(took: int, beside: tuple[Ran, ...] = (), gpu: list[dict[str, Any]] = boards) -> str:
        moved = copy(5, 0, took * US, 45_000_000, (2, 2), **between)
        return ranks([(GEMM, 1000, 1100), *beside], memop=[moved], gpu=gpu)

    found = judged(library, copied(1000), "slow_peer_copies")
    assert (found.verdict, found.saving_ns, found.facts["link"]) == ("fires", 800 * US, "NVLink")
    assert found.value == pytest.approx(100 * 800 / 1100)
    assert (found.facts["rate"], found.facts["peak"]) == (pytest.approx(45e9), 450e9)
    assert judged(library, copied(1000, ((GEMM, 500, 1000),)), "slow_peer_copies").saving_ns == 300 * US
    assert judged(library, copied(190), "slow_peer_copies").verdict == "clear"
    unknown = [one | {"name": "NVIDIA Something"} for one in boards]
    assert judged(library, copied(1000, gpu=unknown), "slow_peer_copies").verdict == "cannot_judge"


def test_unused_parameters(library: Library, ranks: Ranks) -> None:
    """Four steps with an all-reduce of 32-bit integers of 20 µs each, after that of the gradients."""
    ran = [one for n in range(4) for one in (*step(n, 2, 200), (LISTED, n * 1500 + 900, n * 1500 + 920))]
    found = judged(library, ranks(ran, **steps(4)), "unused_parameters")
    assert (found.verdict, found.saving_ns, found.facts["reduced"]) == ("fires", 4 * 20 * US, 4)
    assert found.value == pytest.approx(100 * 80 / (3 * 1500 + 920))
    floats = [one for one in ran if one[0] != LISTED]
    assert judged(library, ranks(floats, **steps(4)), "unused_parameters").verdict == "clear"
    assert judged(library, ranks([(GEMM, 0, 10)]), "unused_parameters").verdict == "cannot_judge"


@MORE
def test_integers_of_other_reductions(library: Library, ranks: Ranks) -> None:
    starts = range(0, 6000, 1500)
    alone = [one for at in starts for one in ((GEMM, at, at + 500), (LISTED, at + 900, at + 920))]
    assert judged(library, ranks(alone, **steps(4)), "unused_parameters").verdict == "clear", "integers of its own"
    often = [one for n in range(4) for one in step(n, 2, 200)]
    often += [(LISTED, n * 1500 + 900 + 30 * i, n * 1500 + 920 + 30 * i) for n in range(4) for i in range(3)]
    assert judged(library, ranks(often, **steps(4)), "unused_parameters").verdict == "clear", "three a step"


def test_the_search_for_unused_parameters_by_its_range(library: Library, ranks: Ranks) -> None:
    """The CPU searches for 300 µs of a gap of 500."""
    told = ranges((150 * US, 450 * US, "torch.distributed.ddp.reducer::search_unused_parameters"))
    found = judged(library, ranks([(GEMM, 0, 100), (REDUCED, 600, 700)], **told), "unused_parameters")
    assert (found.verdict, found.saving_ns, found.facts["searches"]) == ("fires", 300 * US, 1)
