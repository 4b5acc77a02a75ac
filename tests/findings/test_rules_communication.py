"""Rules about communication: on data-parallel samples against the raw export, and on small captures by hand."""

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from profiledb.findings import sentences
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.ddp_samples import FOLDER, needs_ddp
from tests.support.gaps import MS
from tests.support.judged_rules import Span, bare, judged, pct, rows, spans, union, window
from tests.support.memory_reports import PID, call, copy
from tests.support.page_reports import Publish, insert, kernel

SHARED = "communication_on_compute_stream"
RANK0, OVERLAP0, ALONE = "ddp_strong_4_rank0.sqlite", "ddp_overlap_4_rank0.sqlite", "ddp_1.sqlite"
GRAPH = "launches_graph.nsys-rep"
MORE = pytest.mark.slow("judges more captures by hand")

Ran = tuple[int, int, int, int, bool]
"""Begin, end, GPU, stream of a kernel, and whether it is one of NCCL."""


def split(sample: str) -> tuple[list[Span], list[Span]]:
    """Times of the kernels of NCCL of a sample, and of all others."""
    found = rows(
        sample,
        """SELECT k.start, k."end", s.value LIKE 'nccl%' FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
        JOIN StringIds AS s ON s.id = shortName""",
        FOLDER,
    )
    return [(a, b) for a, b, nccl in found if nccl], [(a, b) for a, b, nccl in found if not nccl]


@pytest.fixture
def small(publish: Publish) -> Callable[..., str]:
    """Publishes a capture of kernels, and of calls where given."""

    def small_(*ran: Ran, calls: list[dict[str, Any]] | None = None, elements: int | None = None) -> str:
        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(
                db,
                "kernel_name",
                [{"name_id": 9, "short": "ncclDevKernel_AllReduce", "demangled": "nccl", "class": "communication"}],
            )
            work = [
                kernel(i, 9 if nccl else 1, a, b, device_id=gpu, stream_id=stream, global_pid=PID)
                for i, (a, b, gpu, stream, nccl) in enumerate(ran)
            ]
            made.fill(db, kernel=work, api_call=calls or [])
            sent = {"name": "allreduce", "dtype": "BFloat16", "in_elements": elements, "out_elements": elements}
            insert(db, "collective", [sent | {"kernel_id": i} for i in range(len(ran)) if elements])
            insert(db, "busy", [{"device_id": gpu, "start_ns": a, "end_ns": b} for a, b, gpu, _, _ in ran])

        return str(publish(fill))

    return small_


SIZE = 4 << 20


@pytest.fixture
def gathered(library: Library, publish: Publish) -> Callable[..., Finding]:
    """Judges rounds of 37 ms: 10 ms of compute, a copy to the host of 2 ms, 10 ms of pickling, 2 ms to the GPU, 1 ms of
    NCCL, 2 ms back, 10 ms of unpickling."""

    def gather(extra: int = 408, rounds: int = 4, *, nccl: bool = True) -> Finding:
        kernels, copies, calls = [], [], []

        def launch(number: int, name_id: int, a: int, b: int) -> None:
            kernels.append(kernel(number, name_id, a, b, call_id=number, global_pid=PID))
            calls.append(call(number, 1, a - 10, a - 5))

        for i in range(rounds):
            t, first = 37 * MS * i + 10, 10 * i
            launch(first, 1, t, t + 10 * MS)
            launch(first + 3, 9, t + 24 * MS + 10, t + 25 * MS)
            for nth, a, b, sent, kinds in (
                (1, 10, 12, SIZE, (2, 0)), (2, 22, 24, SIZE + extra, (0, 2)), (4, 25, 27, SIZE + extra, (2, 0)),
            ):  # fmt: skip
                copies.append(copy(first + nth, t + a * MS, t + b * MS, sent, kinds))
                calls.append(call(first + nth, 4, t + a * MS, t + b * MS))
        launch(10 * rounds, 1, 37 * MS * rounds + 10, (37 * rounds + 2) * MS + 10)
        work = sorted((one["start_ns"], one["end_ns"]) for one in (*kernels, *copies))

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            name, kind = ("ncclDevKernel_AllGather", "communication") if nccl else ("gather", "other")
            insert(db, "kernel_name", [{"name_id": 9, "short": name, "demangled": name, "class": kind}])
            made.fill(db, work[-1][1], tuple(work), kernel=kernels, memop=copies, api_call=calls)

        return judged(library, publish(fill), "pickled_tensors")

    return gather


def test_tensors_that_are_pickled_for_collectives(gathered: Callable[..., Finding]) -> None:
    found = gathered()
    assert (found.verdict, found.saving_ns) == ("fires", 4 * (26 * MS - 10))
    assert found.value == pytest.approx(100 * 4 * (26 * MS - 10) / (150 * MS))
    assert (found.facts["messages"], found.facts["bytes"]) == (4, 4 * (3 * SIZE + 2 * 408))
    assert found.facts["code_ns"] == 4 * (20 * MS - 10)
    assert "all_gather_into_tensor" in found.rule.advised(found.cause, ["PyTorch"])[0]
    same = gathered(0)
    assert (same.verdict, same.saving_ns) == ("clear", 0)


@MORE
def test_tensors_that_are_not_pickled(gathered: Callable[..., Finding]) -> None:
    """Other sizes, two messages, and none of NCCL are something else."""
    others = [gathered(5000), gathered(-408), gathered(rounds=2), gathered(nccl=False)]
    assert [(one.verdict, one.saving_ns) for one in others] == [("clear", 0)] * 4


def test_one_process_that_drives_several_gpus(library: Library, publish: Publish) -> None:
    """By hand, two GPUs, 10 ms a step: a broadcast of 1 ms, 2 ms of a kernel, a reduction from 8 to 9 ms, an update of
    0.5 ms on the first GPU. From the broadcast's start to the reduction's end, each GPU computes for 2 of 9 ms."""
    names = {8: "ncclDevKernel_Broadcast_RING_LL", 9: "ncclDevKernel_Reduce_Sum_f32_RING_LL", 10: "AllReduce_Sum_f32"}

    def train(back: int = 9, steps: int = 4, processes: int = 1) -> Finding:
        work = []
        for step in range(steps):
            at = 10 * step * MS
            for gpu in (0, 1):
                ran = [(8, at, at + MS), (1, at + 2 * MS, at + 4 * MS), (back, at + 8 * MS, at + 9 * MS)]
                ran += [(1, at + 9 * MS + MS // 2, at + 10 * MS)] if gpu == 0 else []
                work += [(gpu, *one) for one in ran]

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            named = [{"name_id": key, "short": name, "demangled": name} for key, name in names.items()]
            insert(db, "kernel_name", [one | {"class": "communication"} for one in named])
            ran = [
                kernel(i, name, a, b, device_id=gpu, global_pid=PID + gpu * (processes - 1))
                for i, (gpu, name, a, b) in enumerate(work)
            ]
            made.fill(db, kernel=ran)
            insert(db, "busy", [{"device_id": gpu, "start_ns": a, "end_ns": b} for gpu, _, a, b in work])

        return judged(library, publish(fill), "data_parallel")

    found = train()
    lasts_ns = (40 + 39) * MS
    assert (found.verdict, found.saving_ns) == ("fires", 4 * 2 * 7 * MS)
    assert found.value == pytest.approx(100 * 4 * 2 * 7 * MS / lasts_ns)
    assert [found.facts[name] for name in ("devices", "passes", "broadcasts")] == [2, 4, 8]
    assert "DistributedDataParallel" in found.rule.advised(found.cause, ["PyTorch"])[0]
    assert [(one.verdict, one.saving_ns) for one in (train(back=10), train(steps=2), train(processes=2))] == [
        ("clear", 0)
    ] * 3


@needs_ddp
def test_exposed_communication(ddp: Library, nsys_samples: Library) -> None:
    for sample in (RANK0, OVERLAP0):
        found = judged(ddp, sample, "exposed_communication")
        nccl, others = split(sample)
        assert found.saving_ns == bare(nccl, others), sample
        assert found.value == pytest.approx(pct(bare(nccl, others), window(sample, FOLDER)))
        assert found.facts["all_ns"] == union(nccl)
    assert judged(ddp, RANK0, "exposed_communication", warmup="exclude").verdict == "fires"
    assert judged(ddp, ALONE, "exposed_communication").value == 0
    assert judged(nsys_samples, GRAPH, "exposed_communication").command.startswith("warpdeck profile -- ")


def test_collectives_that_mostly_wait(library: Library, small: Callable[..., str]) -> None:
    """By hand: 5 collectives take 10 ns, 25 of their kind take 100: 2,350 of 2,550 ns exceed the fastest tenth."""
    ran = [(i * 100, i * 100 + (10 if i % 6 == 0 else 100), 0, 7, True) for i in range(30)]
    found = judged(library, small(*ran), "exposed_communication")
    taken = 5 * 10 + 25 * 100
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", "waits", taken)
    assert found.facts["waits_pct"] == pytest.approx(100 * (taken - 30 * 10) / taken)
    assert "Compare the ranks" in sentences.fill_advice(found)[0]
    assert len(sentences.fill_advice(found)) == 1, "overlap would save what is sent alone"


@MORE
def test_waits_of_collectives_here_and_elsewhere(library: Library, small: Callable[..., str]) -> None:
    ran = [(i * 100, i * 100 + (10 if i % 6 == 0 else 100), 0, 7, True) for i in range(30)]
    taken = 5 * 10 + 25 * 100
    waits_pct = pytest.approx(100 * (taken - 30 * 10) / taken)
    shared = judged(library, small(*ran, (3_000, 4_000, 0, 7, False)), SHARED)
    assert (shared.verdict, shared.cause, shared.facts["waits_pct"]) == ("fires", "waits", waits_pct)
    assert "Compare the ranks" in sentences.fill_advice(shared)[0]
    both = judged(library, small(*ran, *((a, b, 1, 7, True) for a, b, *_ in ran)), "exposed_communication")
    assert (both.cause, "Compare the ranks" in sentences.fill_advice(both)[0]) == ("waits here", False)
    mixed = [(a, b, gpu, 7, True) for gpu in (0, 1) for a, b, *_ in ran]
    here = judged(library, small(*mixed, (3_000, 4_000, 0, 7, False), (3_000, 4_000, 1, 7, False)), SHARED)
    assert here.saving_ns == 2 * 30 * 10, "a stream of its own removes no wait for another rank"
    alike = judged(library, small(*[(i * 100, i * 100 + 100, 0, 7, True) for i in range(30)]), "exposed_communication")
    assert (alike.cause, alike.facts["waits_pct"]) == (None, None)


def test_large_collectives_that_move_little_a_second(library: Library, small: Callable[..., str]) -> None:
    """By hand: two all-reduces of 400 µs move 1 MB each, which is 2.5 GB/s; with twice the size nothing is slow."""
    ran = ((0, 400_000, 0, 7, True), (500_000, 900_000, 0, 7, True))
    slow, quick, small_ones = (
        judged(library, small(*ran, elements=elements), "exposed_communication")
        for elements in (500_000, 1_000_000, 400_000)
    )
    assert (slow.verdict, slow.cause, slow.facts["rate"]) == ("fires", "slow", pytest.approx(2.5e9))
    assert "collectives of 1 MB or more move only 2.50 GB/s" in sentences.strip_sentence(slow)
    assert "Compare the ranks" in sentences.fill_advice(slow)[0]
    assert len(sentences.fill_advice(slow)) > 1, "sending less or earlier helps, too"
    assert (quick.cause, small_ones.cause) == (None, None)
    assert judged(library, small(*ran), "exposed_communication").cause is None, "the sizes are not known"


@needs_ddp
def test_communication_overlap(ddp: Library) -> None:
    for sample in (RANK0, OVERLAP0):
        found = judged(ddp, sample, "communication_overlap")
        nccl, others = split(sample)
        assert found.value == pytest.approx(100 - 100 * bare(nccl, others) / union(nccl)), sample
        assert (found.verdict, found.severity) == ("fires", "note")
    assert "communication kernels" in judged(ddp, ALONE, "communication_overlap").why


def test_communication_beside_compute_is_clear(library: Library, small: Callable[..., str]) -> None:
    beside = small((0, 100, 0, 7, False), (10, 60, 0, 8, True))
    assert judged(library, beside, "communication_overlap").value == 100
    assert judged(library, beside, "exposed_communication").verdict == "clear"
    assert judged(library, beside, "communication_on_compute_stream").verdict == "clear"
    little = small((0, 990, 0, 7, False), (990, 1000, 0, 7, True))
    assert "1.0 %" in judged(library, little, "communication_overlap").why


@needs_ddp
def test_communication_on_compute_stream(ddp: Library, nsys_samples: Library) -> None:
    """The strong samples reduce on the compute stream; the overlapping ones use NCCL's own stream."""
    found = judged(ddp, RANK0, "communication_on_compute_stream", warmup="exclude")
    streams = dict(
        rows(
            RANK0,
            """SELECT streamId, sum(s.value LIKE 'nccl%') > 0 AND sum(s.value LIKE 'nccl%') < count(*)
            FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds AS s ON s.id = shortName GROUP BY streamId""",
            FOLDER,
        )
    )
    alone = judged(ddp, RANK0, "exposed_communication", warmup="exclude")
    assert sum(streams.values()) == found.facts["streams"] == 1
    assert (found.verdict, found.saving_ns) == ("fires", alone.saving_ns)  # all of it is on that stream
    assert judged(ddp, OVERLAP0, "communication_on_compute_stream").verdict == "clear"
    assert judged(nsys_samples, GRAPH, "communication_on_compute_stream").verdict == "cannot_judge"


@needs_ddp
def test_sync_after_communication(ddp: Library, library: Library, small: Callable[..., str]) -> None:
    """No sample waits long right after a collective: by hand, two gaps of 20 µs, and the CPU waits in one."""
    kernels = ((0, 50_000, 0, 7, True), (70_000, 100_000, 0, 7, True), (120_000, 150_000, 0, 7, False))
    found = judged(library, small(*kernels, calls=[call(1, 2, 40_000, 60_000)]), "sync_after_communication")
    assert (found.verdict, found.saving_ns, found.facts["gaps"]) == ("fires", 20_000, 1)
    assert found.value == pytest.approx(100 * 20 / 150)
    assert found.facts["function"] == "cudaStreamSynchronize"
    assert judged(ddp, RANK0, "sync_after_communication").verdict == "clear"
    assert judged(library, small(*kernels), "sync_after_communication").verdict == "cannot_judge"


@needs_ddp
def test_slow_collectives(ddp: Library, library: Library, small: Callable[..., str]) -> None:
    """By hand: five collectives of 10 ns, and one that takes 60: 50 beyond the median, of 110 ns in all."""
    quick = [(i * 10, i * 10 + 10, 0, 7, True) for i in range(5)]
    found = judged(library, small(*quick, (50, 110, 0, 7, True)), "slow_collectives")
    assert (found.verdict, found.saving_ns, found.facts["slow"]) == ("fires", 50, 1)
    assert found.value == pytest.approx(100 * 50 / 110)
    assert "Compare the ranks" in sentences.fill_advice(found)[0]
    both = [(a, b, gpu, 7, True) for gpu in (0, 1) for a, b, *_ in (*quick, (50, 110))]
    here = judged(library, small(*both), "slow_collectives")
    assert (here.cause, "look on the timeline" in sentences.fill_advice(here)[0]) == ("waits here", True)
    assert judged(library, small(*quick), "slow_collectives").verdict == "clear"
    assert judged(library, small(*quick[:3]), "slow_collectives").verdict == "cannot_judge"
    assert judged(ddp, OVERLAP0, "slow_collectives", warmup="exclude").verdict == "clear"


def test_a_slow_collective_beside_compute_costs_nothing(library: Library, small: Callable[..., str]) -> None:
    """By hand: compute hides all but 20 of the 50 ns beyond the median."""
    quick = [(i * 10, i * 10 + 10, 0, 7, True) for i in range(5)]
    found = judged(library, small(*quick, (50, 110, 0, 7, True), (50, 90, 0, 8, False)), "slow_collectives")
    assert (found.saving_ns, found.facts["beyond_ns"]) == (20, 50)


@needs_ddp
def test_one_rank_tells_nothing_of_imbalance(ddp: Library) -> None:
    assert "warpdeck scaling" in judged(ddp, RANK0, "rank_imbalance").why
    assert judged(ddp, ALONE, "rank_imbalance").verdict == "clear"


def test_rank_imbalance(library: Library, small: Callable[..., str]) -> None:
    """No available report has several ranks: by hand, in eight collectives of 100 ns GPU 0 comes 30 ns before GPU 1."""

    def met(*late: tuple[int, int]) -> list[Ran]:
        times = [(i * 100 + after, i * 100 + 90, gpu) for i, one in enumerate(late) for gpu, after in enumerate(one)]
        return [(a, b, gpu, 7, True) for a, b, gpu in times]

    found = judged(library, small(*met(*((0, 30),) * 8)), "rank_imbalance")
    assert (found.verdict, found.saving_ns, found.facts["collectives"], found.facts["last_gpu"]) == ("fires", 240, 8, 1)
    assert found.value == pytest.approx(100 * 240 / (790 + 760))
    in_turn = small(*met(*((0, 30), (30, 0)) * 4, (0, 10)))
    assert judged(library, in_turn, "rank_imbalance").saving_ns == 10, "equal work would not remove the other waits"
    single = judged(library, small(*met((0, 30))), "rank_imbalance")
    assert (single.verdict, "too few collectives" in single.why) == ("cannot_judge", True)
    assert judged(library, small(*met(*((0, 0),) * 8)), "rank_imbalance").value == 0


@needs_ddp
def test_all_work_of_a_rank_is_looked_at(ddp: Library) -> None:
    nccl, others = split(RANK0)
    assert sorted([*nccl, *others]) == sorted(spans(RANK0, "KERNEL", folder=FOLDER))
    assert nccl
    assert others


def test_a_time_that_ends_in_a_collective(small: Callable[..., str], library: Library) -> None:
    """A collective of 9.8 µs takes 800 ns of the first µs: 80 %, not 980 %."""
    found = judged(
        library, small((0, 200, 0, 7, False), (200, 10_000, 0, 7, True)), "exposed_communication", to_ns=1000
    )
    assert found.saving_ns == 800
    assert found.value == pytest.approx(80)


def test_slow_collectives_beside_each_other(small: Callable[..., str], library: Library) -> None:
    """On each of 8 streams, one of 9 collectives takes 100 µs instead of 1, all at the same time, which counts once."""
    ran = [(n * 1000, (n + 1) * 1000, 0, stream, True) for stream in range(8) for n in range(9)]
    late = [(9000, 109_000, 0, stream, True) for stream in range(8)]
    found = judged(library, small(*ran, *late), "slow_collectives")
    assert (found.saving_ns, found.facts["beyond_ns"]) == (100_000, 8 * 99_000)
    assert found.value == pytest.approx(100 * 100 / 109)
