"""Rules about copies and memory: on samples against the raw export, and on small captures by hand."""

from typing import Any

import duckdb
import pytest

from profiledb.findings import rulebook, sentences
from profiledb.findings.sentences import strip_sentence
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import MS, by_hand, ranges
from tests.support.judged_rules import Span, bare, judged, pct, rows, spans, union, window
from tests.support.memory_reports import PID, call, copy
from tests.support.page_reports import H100, Publish, insert, kernel
from tests.support.torch_samples import RANKS, needs_torch_samples

SERIAL, OVERLAPPED = "streams_serial.nsys-rep", "streams_overlapped.nsys-rep"
LINK = 32e9 * 16 / 8 * 128 / 130
"""PCI Express 5.0 with 16 lanes, bytes per second."""
MORE = pytest.mark.slow("judges more captures by hand")
H200 = H100 | {"name": "NVIDIA H200", "chip": "GH100", "memory_bytes": 1000}


def copies(sample: str) -> list[tuple[int, int, int, int, int, int]]:
    """Begin and end of call and copy, bytes, and whether it is asynchronous and pageable."""
    return rows(
        sample,
        """SELECT r.start, r."end", m.start, m."end", m.bytes,
            s.value LIKE 'cudaMemcpyAsync%' AND 0 IN (m.srcKind, m.dstKind)
        FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId)
        JOIN StringIds AS s ON s.id = r.nameId WHERE m.copyKind IN (1, 2)""",
    )


def cut(span: Span, to: Span) -> Span:
    return max(span[0], to[0]), min(span[1], to[1])


@pytest.fixture
def small(publish: Publish) -> Any:
    """Publishes a capture of kernels (begin, end) with rows of other tables, on an H200."""

    def small_(kernels: list[Span], gpus: tuple[dict[str, Any], ...] = (H200,), **tables: Any) -> str:
        ran = [kernel(100 + i, 1, a, b, call_id=100 + i, global_pid=PID) for i, (a, b) in enumerate(kernels)]
        work = sorted([*kernels, *((one["start_ns"], one["end_ns"]) for one in tables.get("memop", []))])

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "gpu", gpus)
            made.fill(db, busy=tuple(work), kernel=ran, **tables)

        return str(publish(fill))

    return small_


def test_pageable_copies(nsys_samples: Library) -> None:
    found = judged(nsys_samples, SERIAL, "pageable_copies")
    of = window(SERIAL)
    held = [cut((min(a, c), max(b, d)), of) for a, b, c, d, _, pageable in copies(SERIAL) if pageable]
    lost = bare(held, spans(SERIAL, "KERNEL"))
    assert (found.verdict, found.severity) == ("fires", "high")
    assert found.value == pytest.approx(pct(lost, of), rel=1e-9)
    assert found.saving_ns == lost == found.facts["bare_ns"]
    assert found.facts["copies"] == len(held)
    assert found.evidence[0]["ns"] == max(b - a for a, b in held)
    assert judged(nsys_samples, OVERLAPPED, "pageable_copies").verdict == "clear"


def test_pageable_copies_need_their_calls(library: Library, small: Any) -> None:
    alone = small([(0, 10)], memop=[copy(1, 20, 60, 1000, (0, 2), call_id=None)])
    assert judged(library, alone, "pageable_copies").why == "The report has no calls of its copies."


def test_a_scalar_that_is_read_is_no_pageable_copy(library: Library, small: Any) -> None:
    """A call waits 900 µs for a copy of 4 bytes that takes 2, and the GPU computes for 400: memory costs 2 µs and 4 ns.

    A copy of 4 MB may well take 900 µs less the kernel, because it takes 4.2 ms at 1 GB/s.
    """

    def read(size: int, start: int) -> Any:
        copies_ = [copy(1, start, 950_000, size, (2, 0))]
        calls = [call(100, 1, 0, 10_000), call(1, 4, 50_000, 950_000)]
        return judged(library, small([(500_000, 900_000)], memop=copies_, api_call=calls), "pageable_copies")

    scalar, large = read(4, 948_000), read(4 << 20, 920_000)
    assert (scalar.verdict, scalar.saving_ns) == ("clear", 2_004)
    assert (large.verdict, large.saving_ns) == ("fires", 950_000 - 900_000)


@pytest.mark.parametrize(("direction", "said"), [
    ((2, 0), "`host.copy_("), pytest.param((0, 2), "`DataLoader(pin_memory=True)`", marks=MORE),
])  # fmt: skip
def test_advice_knows_the_direction(library: Library, small: Any, direction: tuple[int, int], said: str) -> None:
    moved = [copy(1, 920_000, 950_000, 4 << 20, direction)]
    calls = [call(100, 1, 0, 10_000), call(1, 4, 50_000, 950_000)]
    found = judged(library, small([(500_000, 900_000)], memop=moved, api_call=calls), "pageable_copies")
    assert said in found.rule.advised(found.cause, ["PyTorch"])[0]
    change = rulebook.load()["pageable_copies"].list_changes(found.cause)
    assert bool(change) == (direction == (0, 2)), "the change is about copies to the GPU"


@pytest.mark.parametrize(
    ("back", "goes_on", "cause"),
    [(4, True, "both ways"), *(pytest.param(*one, marks=MORE) for one in ((4, False, None), (1, True, None)))],
    ids=["a state", "input and results", "other data"],
)
def test_data_that_returns_to_the_gpu(
    library: Library, small: Any, back: int, goes_on: bool, cause: str | None
) -> None:
    """In each of six turns, 4 MB go to the GPU, a kernel runs, and ``back`` MB return; a second kernel may follow."""
    moved, calls, kernels = [], [call(100, 1, 0, 10_000)], []
    for turn in range(6):
        at = 1_000_000 * (1 + 2 * turn)
        moved.append(copy(turn, at, at + 400_000, 4 << 20, (0, 2)))
        moved.append(copy(10 + turn, at + 900_000, at + 1_200_000, back << 20, (2, 0)))
        calls.append(call(turn, 4, at - 5_000, at + 400_000))
        calls.append(call(10 + turn, 4, at + 890_000, at + 1_200_000))
        kernels += [(at + 500_000, at + 800_000), *([(at + 1_300_000, at + 1_500_000)] if goes_on else [])]
    found = judged(library, small(kernels, memop=moved, api_call=calls), "pageable_copies")
    assert (found.verdict, found.cause) == ("fires", cause)
    assert ("Leave on the GPU" in sentences.fill_advice(found)[0]) == (cause is not None)


@pytest.mark.parametrize(
    ("turns", "size", "tables", "expected"),
    [
        (4, 1_000_000, {}, 4 * 490_000 + 3 * 1_080_000),
        pytest.param(3, 1_000_000, {}, 0, marks=MORE),
        pytest.param(4, 999_999, {}, 0, marks=MORE),
        (4, 1_000_000, ranges((600_000, 9_000_000, "write")), 0),
        pytest.param(4, 1_000_000, {"memop": [copy(50 + n, at + 1_990_000, at + 1_995_000, 64_000, (1, 2))
                                              for n, at in enumerate(range(0, 6_000_000, 2_000_000))]},
                     4 * 490_000, marks=MORE),
    ],
    ids=["outside ranges", "too few", "too small", "in a range", "input follows"],
)  # fmt: skip
def test_results_to_host(
    library: Library, publish: Publish, turns: int, size: int, tables: dict[str, Any], expected: int
) -> None:
    """By hand: kernels of 100 µs, 500 µs later copies of results that take 300, whose calls begin 10 µs before them,
    and 1.1 ms later, with 20 µs for its launch, the next kernel. A copy to the GPU may come before that one. Only
    the first of the gaps lies outside the range, which is too few."""
    sent = tables.get("memop", [])
    calls = [call(one["call_id"], 4, one["start_ns"] - 5_000, one["start_ns"]) for one in sent]
    work, moved = [], list(sent)
    for turn in range(turns):
        at = 2_000_000 * turn
        work.append((at - 20_000, at - 10_000, at, at + 100_000))
        moved.append(copy(turn, at + 600_000, at + 900_000, size, (2, 1)))
        calls.append(call(turn, 4, at + 590_000, at + 600_000))
    report = by_hand(publish, work, **{**tables, "memop": moved, "api_call": calls})
    found = judged(library, report, "results_to_host")
    assert (found.verdict, found.saving_ns) == ("fires" if expected else "clear", expected)
    if expected:
        assert (found.facts["copies"], found.facts["bytes"]) == (4, 4 * size)
        assert found.facts["before_ns"] == 4 * 490_000
        assert found.value == pytest.approx(100 * expected / 6_900_000)


def test_results_of_samples_stay_where_they_are(nsys_samples: Library) -> None:
    """The samples copy small results; a report without copies has no results that the CPU takes in."""
    assert judged(nsys_samples, SERIAL, "results_to_host").verdict == "clear"
    assert judged(nsys_samples, "openmp_regions.nsys-rep", "results_to_host").verdict == "cannot_judge"


@MORE
def test_what_is_copied_before_the_first_kernel_may_be_weights(library: Library, small: Any) -> None:
    """A loader also copies between kernels; only then is pinning advised."""
    moved = [copy(1, 20_000, 450_000, 4 << 20, (0, 2))]
    calls = [call(100, 1, 0, 10_000), call(1, 4, 15_000, 450_000)]
    first = judged(library, small([(500_000, 900_000)], memop=moved, api_call=calls), "pageable_copies")
    between = judged(
        library, small([(10_000, 14_000), (500_000, 900_000)], memop=moved, api_call=calls), "pageable_copies"
    )
    assert (first.verdict, between.verdict) == ("fires", "fires")
    assert "DataLoader" not in first.rule.advised(first.cause, ["PyTorch"])[0]
    assert "DataLoader" in between.rule.advised(between.cause, ["PyTorch"])[0]


@pytest.fixture
def send_message(library: Library, small: Any) -> Any:
    """Judges: after 20 ms of compute, a copy to the host takes 2 ms and the main thread then waits 10 ms, while another
    thread that waits for sockets writes to one: 12 of 40 ms."""

    def send(function: str = "writev", size: int = 4 << 20, written: int = 25 * MS, polls: str = "epoll_wait") -> Any:
        values = {70: "pthread_cond_timedwait", 71: function, 72: polls}
        names = [{"string_id": number, "value": value} for number, value in values.items()]
        waits = [
            made.osrt(1, 70, 22 * MS, 32 * MS), made.osrt(2, 71, written, written + MS, made.WORKER),
            made.osrt(3, 72, 23 * MS, 24 * MS, made.WORKER),
        ]  # fmt: skip
        calls = [call(100, 1, 0, 5), call(1, 4, 19 * MS, 22 * MS), call(101, 1, 32 * MS + 5, 32 * MS + 10)]
        moved = [copy(1, 20 * MS, 22 * MS, size, (2, 0))]
        report = small(
            [(10, 20 * MS), (33 * MS, 40 * MS + 10)], memop=moved, api_call=calls, osrt_call=waits, string=names
        )
        return judged(library, report, "messages_through_host")

    return send


def test_messages_through_the_host(send_message: Any, nsys_samples: Library) -> None:
    found = send_message()
    assert (found.verdict, found.saving_ns, found.value) == ("fires", 12 * MS, pytest.approx(30.0))
    assert (found.facts["gaps"], found.facts["bytes"]) == (1, 4 << 20)
    assert '`init_process_group("nccl")`' in found.rule.advised(found.cause, ["PyTorch"])[0]
    assert judged(nsys_samples, SERIAL, "messages_through_host").verdict == "cannot_judge"
    little = send_message(size=1000)
    assert (little.verdict, little.saving_ns) == ("clear", 0)


@MORE
def test_calls_that_are_messages(send_message: Any) -> None:
    """Without another thread that writes to a socket meanwhile, it waits for something else."""
    others = [send_message("read"), send_message(written=34 * MS), send_message(polls="poll")]
    assert [(one.verdict, one.saving_ns) for one in others] == [("clear", 0)] * 3, "the last writes a file"
    assert send_message("sendmsg", polls="poll").verdict == "fires"


LAYER = [4 << 20, 1 << 20, 1 << 20, 2 << 20, 8 << 20]
LAYERS = [32 << 20, *LAYER, *LAYER, *LAYER]


@pytest.fixture
def send_weights(library: Library, small: Any) -> Any:
    """Judges four passes of 16 layers: a copy of 20 µs, 1 µs later (no gap) a kernel of 10 µs, and 9 µs until the next
    copy, for which the CPU works: 29 of 40 µs a layer."""

    def send(sizes: list[int], times: int = 64, memory_bytes: int = 1 << 30) -> Any:
        kernels, moved, calls = [], [], []
        for at in range(times):
            begin = 1000 + 40_000 * at
            moved.append(copy(1000 + at, begin, begin + 20_000, sizes[at % len(sizes)], (0, 2)))
            calls.append(call(1000 + at, 4, begin - 500, begin + 20_000))
            kernels.append((begin + 21_000, begin + 31_000))
            calls.append(call(100 + at, 1, begin + 20_100, begin + 20_500))
        report = small(kernels, (H200 | {"memory_bytes": memory_bytes},), memop=moved, api_call=calls)
        return judged(library, report, "weights_from_host")

    return send


def test_weights_that_go_to_the_gpu_in_each_pass(send_weights: Any) -> None:
    found = send_weights(LAYERS)
    assert (found.verdict, found.cause, found.facts["copies"], found.facts["passes"]) == ("fires", None, 16, 4)
    assert found.facts["bytes"] == (32 << 20) + 3 * sum(LAYER)
    assert found.saving_ns == 64 * 20_000 + 63 * 9_000
    assert found.value == pytest.approx(100 * found.saving_ns / (64 * 40_000 - 9_000))
    assert 'model.to("cuda")' in found.rule.advised(found.cause, ["PyTorch"])[0]
    batches = send_weights(LAYER)
    assert (batches.verdict, batches.saving_ns) == ("clear", 0), "sizes that repeat exactly after five copies"


@MORE
def test_other_copies_are_no_weights_in_each_pass(send_weights: Any) -> None:
    assert send_weights(LAYERS, memory_bytes=100 << 20).cause == "large"
    others = [send_weights([4 << 20] * 16), send_weights(LAYERS, 40)]
    assert [(one.verdict, one.saving_ns) for one in others] == [("clear", 0)] * 2, "one size, two passes"


def test_pages_that_move_on_faults(library: Library, small: Any) -> None:
    """Two moves of 2 ms within a kernel of 10 ms, and one of 1 ms after 5 ms without work. Prefetches do not count."""

    def move(cause: int, last: int | None = None) -> Any:
        times = [(1 * MS, 3 * MS), (4 * MS, 6 * MS), (15 * MS, 16 * MS)]
        causes = (cause, cause, cause if last is None else last)
        moved = [
            copy(i, a, b, 1 << 20, (0, 2), operation="[CUDA memcpy Unified Host-to-Device]", call_id=None,
                 copy_kind=11, migration_cause=why)
            for i, ((a, b), why) in enumerate(zip(times, causes, strict=True))
        ]  # fmt: skip
        calls = [call(100, 1, 0, 5), call(101, 1, 20 * MS - 20, 20 * MS - 10)]
        report = small([(10, 10 * MS + 10), (20 * MS, 30 * MS)], memop=moved, api_call=calls)
        return judged(library, report, "page_migrations")

    found = move(2)
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", None, 10 * MS - 10)
    assert found.value == pytest.approx(100 * (10 * MS - 10) / (30 * MS - 10))
    assert (found.facts["moves"], found.facts["bytes"], found.facts["inside_ns"]) == (3, 3 << 20, 4 * MS)
    assert "cudaMemPrefetchAsync" in found.rule.advised(found.cause, ["CUDA C++"])[0]
    assert (move(4).cause, move(2, 4).cause) == ("evicted", None)
    prefetched = move(1)
    assert (prefetched.verdict, prefetched.saving_ns) == ("clear", 0)


@needs_torch_samples
def test_a_trace_of_pytorch_does_not_tell_whether_pages_move(torch_samples: Library) -> None:
    assert judged(torch_samples, RANKS[0], "page_migrations").verdict == "cannot_judge"


def test_slow_copies(nsys_samples: Library) -> None:
    found = judged(nsys_samples, SERIAL, "slow_copies")
    slow = [
        (b - a, size) for _, _, a, b, size, _ in copies(SERIAL) if size >= 1 << 20 and size / (b - a) * 1e9 < LINK / 2
    ]
    lost = sum(ns - size / LINK * 1e9 for ns, size in slow)
    assert found.verdict == "fires"
    assert found.value == pytest.approx(pct(lost, window(SERIAL)), rel=1e-6)
    assert found.facts["copies"] == len(slow)
    assert found.facts["peak"] == pytest.approx(LINK)
    assert found.saving_ns is not None
    assert found.saving_ns <= lost + 1
    assert judged(nsys_samples, OVERLAPPED, "slow_copies").verdict == "clear"
    beside = judged(nsys_samples, "queue.nsys-rep", "slow_copies")  # 106 ms in all, most of them beside kernels
    assert beside.saving_ns
    assert beside.facts["lost_ns"] == beside.saving_ns < 20_000_000
    assert beside.value == pytest.approx(beside.saving_pct)


def test_slow_copies_need_the_peak_of_the_link(library: Library, small: Any) -> None:
    moved = {"memop": [copy(1, 20, 60, 1 << 20, (1, 2))], "api_call": [call(1, 4, 15, 20)]}
    assert judged(library, small([(0, 10)], **moved), "slow_copies").verdict == "clear"
    unknown = judged(library, small([(0, 10)], (H100 | {"name": "GPU", "chip": "XY1"},), **moved), "slow_copies")
    assert unknown.verdict == "cannot_judge"
    assert "data sheet" in unknown.why


def test_copies_exceed_compute(nsys_samples: Library, library: Library, publish: Publish) -> None:
    found = judged(nsys_samples, SERIAL, "copies_exceed_compute")
    moved = [(a, b) for _, _, a, b, _, _ in copies(SERIAL)]
    assert (found.verdict, found.severity) == ("fires", "high")
    staged = found.facts["staged_ns"] or 0  # test_host_code_ahead_of_a_copy_may_fill_its_buffer holds it
    assert found.value == pytest.approx((union(moved) + staged) / union(spans(SERIAL, "KERNEL")))
    assert judged(nsys_samples, OVERLAPPED, "copies_exceed_compute").verdict == "clear"
    calls = publish(lambda db: made.fill(db, api_call=[call(1, 1, 5, 9)]))
    assert judged(library, calls, "copies_exceed_compute").verdict == "cannot_judge"


@pytest.mark.parametrize(("size", "staged"), [(400_000, 60_000), pytest.param(200_000, None, marks=MORE)])
def test_host_code_ahead_of_a_copy_may_fill_its_buffer(library: Library, small: Any, size: int, staged: int) -> None:
    """60 µs of host code ahead of a copy of 20 µs: enough to fill 240 kB at 4 GB/s, but not more."""
    moved = {"memop": [copy(1, 72_000, 92_000, size, (1, 2))], "api_call": [call(1, 4, 70_000, 71_000)]}
    found = judged(library, small([(0, 10_000)], **moved), "copies_exceed_compute")
    assert found.facts["staged_ns"] == staged
    assert (found.verdict, found.saving_ns) == ("fires", 20_000 + (staged or 0))


@pytest.mark.parametrize(("compute", "leads"), [(31_000, True), pytest.param(33_000, False, marks=MORE)])
def test_copies_that_the_link_cannot_carry_in_time_are_the_cause(
    library: Library, small: Any, compute: int, leads: bool
) -> None:
    """A copy of pageable memory of 1 MB in 100 µs; at 63 GB/s it would still take 15.9 µs, half of 31.7 µs."""
    moved = {"memop": [copy(1, 20_000, 120_000, 1_000_000, (0, 2))], "api_call": [call(1, 4, 19_000, 120_000)]}
    found = judged(library, small([(0, compute)], **moved), "copies_exceed_compute")
    assert (found.verdict, found.is_cause) == ("fires", leads)


@pytest.mark.parametrize(("out_ns", "leads"), [(5_000, False), (2_000, False), (1_500, True)])
def test_copies_both_ways_may_only_lack_overlap(library: Library, small: Any, out_ns: int, leads: bool) -> None:
    """Four chunks go to the GPU for 6 µs each, are computed for 4 µs, and return.

    Beside each other all of it takes 24 µs: overlap removes 16 + 4 × `out_ns` of 24 + 4 × `out_ns`, 75 % from 2 µs on.
    """
    starts = [number * 20_000 for number in range(4)]
    moved = [copy(n, a, a + 6_000, 350_000, (1, 2)) for n, a in enumerate(starts, 1)]
    moved += [copy(n, a + 10_000, a + 10_000 + out_ns, 50_000, (2, 1)) for n, a in enumerate(starts, 5)]
    calls = [call(n, 4, one["start_ns"], one["start_ns"] + 1) for n, one in enumerate(moved, 1)]
    report = small([(a + 6_000, a + 10_000) for a in starts], memop=moved, api_call=calls)
    found = judged(library, report, "copies_exceed_compute")
    assert (found.verdict, found.is_cause) == ("fires", leads)
    assert judged(library, report, "no_overlap").verdict == "fires"


@pytest.mark.parametrize(("back", "cause"), [(750_000, "to host"), pytest.param(740_000, None, marks=MORE)])
def test_copies_to_the_host_have_their_own_advice(library: Library, small: Any, back: int, cause: str | None) -> None:
    moved = [copy(1, 40_000, 90_000, back, (2, 0)), copy(2, 95_000, 99_000, 1_000_000 - back, (0, 2))]
    calls = [call(1, 4, 39_000, 90_000), call(2, 4, 94_000, 99_000)]
    found = judged(library, small([(0, 31_000)], memop=moved, api_call=calls), "copies_exceed_compute")
    assert (found.verdict, found.cause) == ("fires", cause)
    advised = found.rule.advised(found.cause, ["PyTorch"])
    assert advised[0].startswith("Copy back only what the CPU needs") == bool(cause)
    assert ("`host.copy_(" in advised[1]) == bool(cause)


def test_synchronous_copies(nsys_samples: Library, library: Library, small: Any) -> None:
    """No sample has a costly one: by hand, the call lasts from 10 to 70, and kernels run from 30 to 40."""
    moved = [copy(1, 20, 60, 100_000, (1, 2)), copy(2, 80, 82, 64_000, (1, 2)), copy(3, 84, 86, 900_000, (2, 2))]
    calls = [call(1, 5, 10, 70), call(2, 5, 78, 84), call(3, 5, 84, 90)]  # small ones and those inside return early
    found = judged(library, small([(0, 12), (30, 40), (90, 100)], memop=moved, api_call=calls), "synchronous_copies")
    assert (found.verdict, found.value, found.saving_ns, found.facts["copies"]) == ("fires", 48.0, 48, 1)
    assert (found.evidence[0]["start_ns"], found.evidence[0]["end_ns"]) == (10, 70)
    assert judged(nsys_samples, OVERLAPPED, "synchronous_copies").value == 0
    outside = small([(72, 80), (90, 100)], memop=moved[:1], api_call=calls[:1])
    assert judged(library, outside, "synchronous_copies").value == 0, "no kernel has run yet"
    alone = small([(0, 10)], memop=[copy(1, 20, 60, 100_000, (1, 2), call_id=None)])
    assert judged(library, alone, "synchronous_copies").verdict == "cannot_judge"


def test_synchronous_memsets(nsys_samples: Library, library: Library, small: Any) -> None:
    """No available report has one, so by hand. A memset of device memory does not block the CPU."""

    def memset(number: int, start: int, end: int, kind: int, **more: Any) -> dict[str, Any]:
        times = {"memop_id": number, "kind": "memset", "operation": "[CUDA memset]", "start_ns": start, "end_ns": end}
        place = {"device_id": 0, "stream_id": 7, "global_pid": PID, "call_id": number, "bytes": 64, "dst_kind": kind}
        return times | place | more

    calls = [call(1, 9, 20, 60), call(2, 9, 70, 80)]
    both = small([(0, 10), (90, 100)], memop=[memset(1, 30, 40, 1), memset(2, 72, 74, 2)], api_call=calls)
    found = judged(library, both, "synchronous_memsets")
    assert (found.verdict, found.value, found.facts["sets"]) == ("fires", 40.0, 1)
    assert judged(nsys_samples, "dataloader_fixed.nsys-rep", "synchronous_memsets").verdict == "clear"
    alone = small([(0, 10)], memop=[memset(1, 30, 40, 1, call_id=None)])
    assert judged(library, alone, "synchronous_memsets").verdict == "cannot_judge"


def test_unified_memory_faults(nsys_samples: Library, library: Library, small: Any) -> None:
    """No available report has GPU faults: by hand, two groups that overlap, and one after the last operation."""
    times = [(20, 40), (30, 50), (200, 300)]
    faults = [
        {"fault_id": i, "start_ns": a, "end_ns": b, "device_id": 0, "faults": 3} for i, (a, b) in enumerate(times)
    ]
    found = judged(library, small([(0, 100)], um_gpu_page_fault=faults), "unified_memory_faults")
    assert (found.verdict, found.value, found.facts["faults"]) == ("fires", 30.0, 6)
    assert judged(nsys_samples, SERIAL, "unified_memory_faults").verdict == "clear"  # traced, no managed memory
    held = {"event_id": 1, "time_ns": 5, "device_id": 0, "bytes": 10, "mem_kind": 4, "operation": 0}
    untraced = judged(library, small([(0, 100)], memory_event=[held]), "unified_memory_faults")
    assert untraced.verdict == "cannot_judge"
    assert "page-faults" in untraced.why
    neither = judged(library, small([(0, 100)]), "unified_memory_faults")
    assert "--with faults -- " in neither.command


def test_memory_nearly_full(nsys_samples: Library, library: Library, small: Any) -> None:
    """No available report comes near: by hand, 950 of 1,000 bytes at once."""
    events = [(1, 5, 600, 0), (2, 10, 350, 0), (3, 20, 600, 1), (4, 30, 300, 0)]
    held = [
        {"event_id": n, "time_ns": t, "device_id": 0, "bytes": b, "mem_kind": 2, "operation": o}
        for n, t, b, o in events
    ]
    found = judged(library, small([(0, 100)], memory_event=held), "memory_nearly_full")
    assert (found.verdict, found.severity, found.value) == ("fires", "warning", 95.0)
    assert found.evidence[0]["start_ns"] == 10
    raw = rows(
        SERIAL,
        """SELECT memoryOperationType, bytes FROM CUDA_GPU_MEMORY_USAGE_EVENTS
        WHERE memKind IN (2, 3, 5) ORDER BY start, rowid""",
    )
    running = [0]
    for operation, size in raw:
        running.append(running[-1] + (-size if operation else size))
    clear = judged(nsys_samples, SERIAL, "memory_nearly_full")
    assert clear.verdict == "clear"
    assert clear.facts["held_bytes"] == max(running) - min(running)
    unknown = small([(0, 100)], (H200 | {"memory_bytes": None},), memory_event=held)
    assert judged(library, unknown, "memory_nearly_full").verdict == "cannot_judge"


US = 1_000
SPACED = [(at + 85 * US, at + 88 * US, at + 90 * US, at + 100 * US) for at in range(0, 2_000 * US, 100 * US)]
"""Kernels of 10 µs every 100 µs."""
MALLOCS = [call(1000 + n, 3, n * 100 * US, n * 100 * US + 60 * US) for n in range(1, 20)]
"""Before each but the first a cudaMalloc of 60 µs that begins when the one before ends."""


def test_allocation_in_loop(nsys_samples: Library, library: Library, publish: Any) -> None:
    us = US
    found = judged(library, by_hand(publish, SPACED, api_call=MALLOCS), "allocation_in_loop")
    assert (found.verdict, found.saving_ns, found.explains_ns) == ("fires", 19 * 60 * us, 19 * 90 * us)
    assert found.facts["function"] == "cudaMalloc"
    assert (found.facts["calls"], found.facts["lost_ns"], found.facts["call_ns"]) == (10, (9 * 60 + 45) * us, 60 * us)
    assert found.value == pytest.approx(100 * 585 / 955)  # the second half of 90 to 2,000 µs has 45 µs of its first gap
    assert (found.cause, found.facts["allocated"], found.facts["freed"]) == ("growth", 10, 0)
    said = "60.0 µs on average and keep the GPU waiting for 585 µs, 61.3 % of that half."
    assert strip_sentence(found).endswith(said), "no other time"
    assert judged(nsys_samples, "streams_overlapped.nsys-rep", "allocation_in_loop").verdict == "clear"


@MORE
def test_other_calls_that_allocate_in_a_loop(library: Library, publish: Any) -> None:
    us, kernels, calls = US, SPACED, MALLOCS
    names = [{"string_id": 60, "value": "cudaFree_v3020"}]
    frees = [call(2000 + n, 60, n * 100 * us + 61 * us, n * 100 * us + 62 * us) for n in range(1, 20)]
    both = judged(library, by_hand(publish, kernels, api_call=calls + frees, string=names), "allocation_in_loop")
    assert (both.cause, both.facts["allocated"], both.saving_ns) == ("churn", None, 19 * 61 * us)
    names += [{"string_id": 61, "value": "cudaStreamBeginCapture_v10000"}]
    begins = [call(3000 + n, 61, n * 100 * us - 200, n * 100 * us - 100) for n in range(1, 20)]
    graphs = judged(library, by_hand(publish, kernels, api_call=calls + frees + begins, string=names), both.rule.name)
    assert (graphs.cause, graphs.saving_ns) == ("captures", both.saving_ns)
    beside = [(n * 100 * us - 5 * us, n * 100 * us - us, n * 100 * us, n * 100 * us + 50 * us) for n in range(1, 20)]
    hidden = [call(1000 + n, 3, n * 100 * us + 5 * us, n * 100 * us + 35 * us) for n in range(1, 20)]
    held = judged(library, by_hand(publish, beside, api_call=hidden), "allocation_in_loop")
    assert held.saving_ns == 18 * 30 * us, "the CPU launches later by each of them"
    waits = [call(3000 + n, 2, n * 100 * us + 40 * us, n * 100 * us + 50 * us) for n in range(1, 20)]
    synced = judged(library, by_hand(publish, beside, api_call=hidden + waits), "allocation_in_loop")
    assert synced.saving_ns == 0, "the CPU waits for the GPU in any case"


@MORE
def test_allocation_outside_of_a_loop(nsys_samples: Library, library: Library, publish: Any, small: Any) -> None:
    us, kernels, calls = US, SPACED, MALLOCS
    early = judged(library, by_hand(publish, kernels, api_call=calls[:5]), "allocation_in_loop")
    assert (early.verdict, early.value, early.saving_ns) == ("clear", 0.0, 5 * 60 * us)
    before = [call(1000, 3, 0, 60 * us)]
    starts = judged(library, by_hand(publish, kernels, api_call=before), "allocation_in_loop")
    assert starts.saving_ns == 0, "before the first kernel there is no loop"
    alone = small([], memop=[copy(5, 0, 10, 64, (1, 2)), copy(6, 190, 200, 64, (1, 2))], api_call=calls)
    assert judged(library, alone, "allocation_in_loop").verdict == "cannot_judge"
    assert judged(nsys_samples, "idle_fixed.nsys-rep", "allocation_in_loop").severity in ("", "low")
    assert judged(library, small([(0, 10)]), "allocation_in_loop").verdict == "cannot_judge"
