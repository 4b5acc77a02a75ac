"""Rules about training and decoding: small captures with times added up here, and clean samples."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import MS, by_hand, ranges, sampled
from tests.support.judged_rules import judged
from tests.support.page_reports import H100, Publish, insert, kernel, name

NAMES = {
    "gemm": "matmul", "GeluCUDAKernelImpl": "elementwise", "GeluBackwardCUDAKernelImpl": "elementwise",
    "multi_tensor_apply_kernel<ZeroFunctor>": "optimizer", "vectorized<CUDAFunctor_add>": "elementwise",
    "vectorized<FillFunctor>": "copy", "gemv2T_kernel_val": "matmul", "nvjet_sm90_tst_64x8_64x16_v_bz_TNT": "matmul",
    "nvjet_sm90_tst_128x64_64x8_v_bz_TNT": "matmul", "softmax_warp_forward": "softmax",
}  # fmt: skip
GEMM, GELU, GELU_BACK, ZERO, ADD, FILL, GEMV, NARROW, WIDE, SOFTMAX = NAMES
US = 1_000
MORE = pytest.mark.slow("judges more captures by hand")
Op = tuple[str, int, bool]
"""Name of a kernel, its duration, and whether the backward pass launches it."""


def trained(
    publish: Publish, *work: Op, autograd: str | None = "pt_autograd_0", gap: int = 10 * US, **tables: Any
) -> str:
    """A capture of kernels one after the other, with a gap before each but the first."""
    rows, calls, at = [], [], 0
    for number, (title, ns, backward) in enumerate(work):
        at += gap if number else 0
        rows.append(kernel(number, list(NAMES).index(title), at, at + ns, call_id=number, global_pid=made.PID))
        calls.append(made.call(number, 1, at - 5, at - 4, made.WORKER if backward else made.MAIN))
        at += ns
    for row in rows:
        row["process_range"] = row["kernel_id"] + 1 if "range" in tables else None

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [H100 | {"memory_bytes": 100_000}])
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": at, "duration_ns": at}])
        insert(db, "kernel_name", [name(i, title, kind, title) for i, (title, kind) in enumerate(NAMES.items())])
        insert(db, "kernel", rows)
        insert(db, "busy", [{"device_id": 0, "start_ns": row["start_ns"], "end_ns": row["end_ns"]} for row in rows])
        if autograd:
            insert(db, "thread", [{"global_tid": made.WORKER, "global_pid": made.PID, "name": autograd}])
        for table, more in ({"api_call": calls} | tables).items():
            insert(db, table, more)

    return str(publish(fill))


def took(work: Sequence[Op], gap: int = 10 * US) -> int:
    """From the first to the last of these kernels."""
    return sum(ns for _, ns, _ in work) + gap * (len(work) - 1)


FORWARD = [(GEMM, 100 * US, False), (GELU, 50 * US, False)] * 2
AGAIN = [(GEMM, 100 * US, True), (GELU, 50 * US, True)]
BACK = [(GELU_BACK, 60 * US, True), (GEMM, 110 * US, True)]


def test_recomputation(library: Library, publish: Publish) -> None:
    """By hand: one of two layers is computed again. Its GEMM comes before GELU, as in the forward pass."""
    work = [*FORWARD, *BACK, *AGAIN, *BACK]
    found = judged(library, trained(publish, *work), "recomputation")
    again = sum(ns for _, ns, _ in AGAIN) + 2 * 10 * US
    assert (found.verdict, found.saving_ns, found.facts["launches"]) == ("fires", again, 2)
    assert found.value == pytest.approx(100 * again / took(work))
    assert found.facts["kernel"] == GEMM
    assert "does not show how full GPU memory is" in found.rule.says[1], "no memory was traced"
    assert found.facts["held_pct"] is None
    kept = [*FORWARD, *BACK, *BACK]
    assert judged(library, trained(publish, *kept), "recomputation").value == 0, "a GEMM of the same shape is no proof"


def test_memory_that_is_full_has_to_be_computed_again(library: Library, publish: Publish) -> None:
    def held(size: int) -> Finding:
        event = {
            "event_id": 1, "time_ns": 0, "global_pid": made.PID, "device_id": 0, "address": 1, "bytes": size,
            "mem_kind": 2, "operation": 0,
        }  # fmt: skip
        return judged(library, trained(publish, *FORWARD, *AGAIN, *BACK, memory_event=[event]), "recomputation")

    some, much = held(69_000), held(70_000)
    assert (some.verdict, some.facts["held_pct"]) == ("fires", 69)
    assert (much.verdict, much.value) == ("clear", 0)


def test_a_backward_pass_is_told_by_threads_or_ranges(library: Library, publish: Publish) -> None:
    work = [*FORWARD, *AGAIN, *BACK]
    unknown = judged(library, trained(publish, *work, autograd=None), "recomputation")
    assert (unknown.verdict, "backward pass" in unknown.why) == ("cannot_judge", True)
    at, named = 0, []
    for number, (_, ns, backward) in enumerate(work):
        at += 10 * US if number else 0
        named.append((at - 8, at + ns, "backward" if backward else "forward"))
        at += ns
    by_name = judged(library, trained(publish, *work, autograd=None, **ranges(*named)), "recomputation")
    assert by_name.saving_ns == 170 * US, "150 µs of kernels and 20 µs before them"


def test_gradients_zeroed(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """By hand: a fill of 100 µs, so three quarters of the 400 µs of additions and of the 10 µs before them count."""
    work = [(ZERO, 100 * US, False), *FORWARD, *BACK, (ADD, 400 * US, True)]
    found = judged(library, trained(publish, *work), "gradients_zeroed")
    expected = 100 * US + round(0.75 * 410 * US)
    assert (found.verdict, found.saving_ns, found.facts["fills"]) == ("fires", expected, 1)
    assert found.value == pytest.approx(100 * expected / took(work))
    alone = judged(library, trained(publish, (ZERO, 100 * US, False), *FORWARD), "gradients_zeroed")
    assert alone.verdict == "cannot_judge", "no backward pass"
    for sample in ("transformer_training", "idle_fixed", "dataloader_starved"):
        assert sampled(nsys_samples, sample, "gradients_zeroed").value == 0, sample


@pytest.mark.parametrize(("fills", "rows", "expected"), [
    (8, 3, 8 * 3 * 20 + 7 * 3 * 10), *(pytest.param(*one, marks=MORE) for one in ((8, 2, 0), (7, 3, 0))),
])  # fmt: skip
def test_rows_of_fills_are_gradients(library: Library, publish: Publish, fills: int, rows: int, expected: int) -> None:
    """By hand: rows of fills of 20 µs, 10 µs apart; the gap before a row does not belong to it."""
    work = [*[(FILL, 20 * US, False)] * fills, *FORWARD, *BACK] * rows
    found = judged(library, trained(publish, *work), "gradients_zeroed")
    assert found.saving_ns == expected * US
    inside = [*FORWARD, *[(FILL, 20 * US, True)] * fills, *BACK] * rows
    assert judged(library, trained(publish, *inside), "gradients_zeroed").saving_ns == 0, "of the backward pass"


def test_decoding_one_by_one(library: Library, publish: Publish) -> None:
    """By hand: 100 products with a vector, 30 µs each and 10 µs apart."""
    work = [*[(GEMV, 30 * US, False)] * 100, (SOFTMAX, US, False)]
    found = judged(library, trained(publish, *work), "decoding_one_by_one")
    assert (found.verdict, found.severity, found.saving_ns) == ("fires", "low", (3_000 + 1_000) * US * 15 // 16)
    assert found.value == pytest.approx(100 * (3_000 + 1_000) * US / took(work))
    mixed = [*work, (GEMM, 2_100 * US, False)]
    assert judged(library, trained(publish, *mixed), "decoding_one_by_one").value == 0, "most is of a matrix"


@MORE
def test_what_else_is_decoding_one_by_one(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """Short gaps go with the products, long ones do not."""
    vectors, narrow, wide = ([(title, 30 * US, False)] * 100 for title in (GEMV, NARROW, WIDE))
    for vector in (vectors, narrow):
        assert judged(library, trained(publish, *vector), "decoding_one_by_one").value == 0, "no language model"
        work = [*vector, (SOFTMAX, US, False)]
        found = judged(library, trained(publish, *work), "decoding_one_by_one")
        assert (found.verdict, found.severity, found.saving_ns) == ("fires", "low", (3_000 + 1_000) * US * 15 // 16)
        assert found.value == pytest.approx(100 * (3_000 + 1_000) * US / took(work))
        slow = judged(library, trained(publish, *work, gap=MS + 1), "decoding_one_by_one")
        assert slow.saving_ns == 3_000 * US * 15 // 16
        mixed = [*work, (GEMM, 2_100 * US, False)]
        assert judged(library, trained(publish, *mixed), "decoding_one_by_one").value == 0, "most is of a matrix"
    assert judged(library, trained(publish, *vectors[1:]), "decoding_one_by_one").value == 0, "too few"
    assert judged(library, trained(publish, *wide), "decoding_one_by_one").value == 0, "its tile has 64 columns"
    for sample in ("transformer_inference", "transformer_training"):
        assert sampled(nsys_samples, sample, "decoding_one_by_one").verdict == "clear", sample
    graphs = sampled(nsys_samples, "launches_graph", "decoding_one_by_one")
    assert graphs.verdict == "cannot_judge", "kernels in graphs are not there"


def copied(publish: Publish, title: str, down: int, up: int, between: int = 0) -> str:
    """A kernel; in a range a copy down of 1 ms, 8 ms of host code, ``between`` ns of kernel, and a copy up of 1 ms."""
    work = [(0, 10, 100, MS), (10 * MS, 10 * MS + 10, 10 * MS + 100, 10 * MS + 100 + between)][: 2 if between else 1]
    moves = [
        made.copy(1, 2 * MS, 3 * MS, down, (2, 0), process_range=1, call_id=1),
        made.copy(2, 11 * MS, 12 * MS, up, (0, 2), process_range=1, call_id=2),
    ]
    calls = [made.call(1, 4, 2 * MS - 100, 3 * MS), made.call(2, 4, 11 * MS - 100, 12 * MS)]
    noted = ranges((MS, 12 * MS, title))

    def inside(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE kernel SET process_range = 1 WHERE start_ns > 1000000")

    return by_hand(publish, work, inside, memop=moves, api_call=calls, **noted)


def test_optimizer_on_cpu(library: Library, publish: Publish) -> None:
    """By hand: from 1 to 12 ms the GPU copies for 2 ms and waits for the rest."""
    found = judged(library, copied(publish, "optimizer", 2_000_000, 1_000_000), "optimizer_on_cpu")
    assert (found.verdict, found.facts["range"]) == ("fires", "optimizer")
    assert (found.facts["down_bytes"], found.facts["up_bytes"]) == (2_000_000, 1_000_000)
    assert found.saving_ns == pytest.approx(11 * MS, abs=200)
    assert found.value == pytest.approx(100 * 11 / 12, abs=0.01)
    little = judged(library, copied(publish, "optimizer", 2_000_000, 400_000), "optimizer_on_cpu")
    assert little.value == 0, "little goes back"


@MORE
def test_other_copies_are_of_no_optimizer(nsys_samples: Library, library: Library, publish: Publish) -> None:
    rule = "optimizer_on_cpu"
    assert judged(library, copied(publish, "optimizer", 8_000_000, 1_000_000), rule).value == 0, "not as much"
    assert judged(library, copied(publish, "optimizer", 2_000_000, 1_000_000, 2 * MS), rule).value == 0, "the GPU works"
    assert judged(library, copied(publish, "round_trip", 2_000_000, 1_000_000), rule).verdict == "cannot_judge"
    assert sampled(nsys_samples, "transformer_training", rule).value == 0
    assert sampled(nsys_samples, "dataloader_starved", rule).value == 0, (
        "it names no optimizer, but has a backward pass"
    )


def test_operators_of_an_update_without_kernels(library: Library, publish: Publish) -> None:
    """By hand: an optimizer from 1 to 11 ms, in it an operator from 2 to 10 ms; the GPU waits from 1 to 12 ms."""

    def update(operator: str) -> Finding:
        noted = ranges((MS, 11 * MS, "Optimizer.step#AdamW.step"), (2 * MS, 10 * MS, operator))
        noted["range"][0]["post"] = 2
        noted["range"][1] |= {"level": 1, "parent_id": 1}
        noted["range_path"][1] |= {"level": 1, "parent_id": 1, "path": f"Optimizer.step#AdamW.step/{operator}"}
        return judged(
            library, by_hand(publish, [(0, 10, 100, MS), (12 * MS - 20, 12 * MS - 10, 12 * MS, 13 * MS)], **noted),
            "optimizer_on_cpu",
        )  # fmt: skip

    found = update("aten::_fused_adam_")
    assert (found.verdict, found.saving_ns) == ("fires", 10 * MS)
    assert found.facts["down_bytes"] is None
    assert update("aten::item").value == 0, "no update"


@MORE
def test_an_update_follows_the_backward_pass(library: Library, publish: Publish) -> None:
    """By hand, in programs without ranges: a backward pass, 120 additions with 5 µs from one to the next, a product."""

    def judge(*between: Op) -> Finding:
        work = [*FORWARD, *BACK, *between, *FORWARD]
        return judged(library, trained(publish, *work, gap=5 * US), "optimizer_per_parameter")

    found = judge(*[(ADD, US, False)] * 120)
    assert (found.verdict, found.facts["calls"], found.facts["range"]) == ("fires", 120, None)
    assert found.facts["idle_ns"] == pytest.approx(121 * 5 * US, abs=20 * US)
    assert found.saving_ns == found.facts["idle_ns"], "kernels of one name need not get fewer"
    assert judge(*[(ADD, US, False)] * 90).value == 0, "few enough"
    assert judge(*[(ADD, US, True)] * 120).value == 0, "of the backward pass"
    assert judge(*[(ADD, US, False)] * 120, *[(ZERO, US, False)] * 20).value == 0, "other kernels run, too"


@MORE
def test_parameters_that_come_back_were_updated(library: Library, publish: Publish) -> None:
    """By hand, without ranges: a backward pass, then four copies of 1 ms each way with 8 ms of host code between."""

    def judge(sizes: Sequence[int], count: int = 4) -> Finding:
        moves, calls = [], []
        for number in range(2 * count):
            at = (2 + number + (8 if number >= count else 0)) * MS
            kinds = (2, 0) if number < count else (0, 2)
            moves.append(made.copy(number, at, at + MS, sizes[number >= count], kinds, call_id=number))
            calls.append(made.call(number, 4, at - 100, at + MS))
        end = (2 + 2 * count + 8) * MS
        work = [(0, 10, 100, 2 * MS), (end, end + 10, end + 100, end + MS)]

        def inside(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "thread", [{"global_tid": made.WORKER, "global_pid": made.PID, "name": "pt_autograd_0"}])
            db.execute(f"UPDATE api_call SET global_tid = {made.WORKER} WHERE call_id = 100")

        report = by_hand(publish, work, inside, memop=moves, api_call=calls)
        return judged(library, report, "optimizer_on_cpu")

    found = judge((1_000_000, 1_000_000))
    assert found.verdict == "fires"
    assert found.saving_ns == pytest.approx(16 * MS, abs=500)
    assert (found.facts["down_bytes"], found.facts["range"]) == (4_000_000, None)
    assert judge((1_000_000, 800_000)).value == 0, "other sizes go back"
    assert judge((1_000_000, 1_000_000), 3).value == 0, "too few"


@pytest.mark.parametrize(("of_backward", "saving_ns"), [(True, 12 * MS), pytest.param(False, 0, marks=MORE)])
def test_gradients_that_hooks_send_belong_to_the_next_update(
    library: Library, publish: Publish, of_backward: bool, saving_ns: int
) -> None:
    """By hand, without ranges: a backward pass whose thread copies four gradients of 1 ms to the CPU, 8 ms of host code
    and four copies of 1 ms back. In another thread, the first four are none of gradients."""
    moves, calls = [], []
    for number in range(8):
        at = (2 + number + (8 if number >= 4 else 0)) * MS
        moves.append(made.copy(number, at, at + MS, 1_000_000, (2, 0) if number < 4 else (0, 2), call_id=number))
        calls.append(made.call(number, 4, at - 100, at - 50 if number < 4 else at + MS))
    work = [(0, 10, 100, 2 * MS), (18 * MS, 18 * MS + 10, 18 * MS + 100, 19 * MS)]

    def inside(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "thread", [{"global_tid": made.WORKER, "global_pid": made.PID, "name": "pt_autograd_0"}])
        db.execute(f"UPDATE api_call SET global_tid = {made.WORKER} WHERE call_id = 100")
        if of_backward:
            db.execute(f"UPDATE api_call SET global_tid = {made.WORKER} WHERE call_id < 4")
        else:
            db.execute("DELETE FROM api_call WHERE call_id < 4")

    found = judged(library, by_hand(publish, work, inside, memop=moves, api_call=calls), "optimizer_on_cpu")
    assert found.saving_ns == pytest.approx(saving_ns, abs=500)
    if of_backward:
        assert (found.facts["down_bytes"], found.facts["up_bytes"]) == (4_000_000, 4_000_000)
