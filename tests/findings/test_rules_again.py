"""Rules about repeated work: small captures with times added up here, and samples."""

from typing import Any

import duckdb
import pytest

from profiledb.findings.sentences import fill_advice, strip_sentence
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import MS, by_hand, ranges, sampled
from tests.support.judged_rules import judged
from tests.support.page_reports import H100, Publish, insert, kernel, name

US = 1_000
MORE = pytest.mark.slow("judges more captures by hand")
FILL = "vectorized_elementwise_kernel<4, FillFunctor<float>>"
LOOK = "compute_grad_weight<float, long>(const long *)"
FOREACH = "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float>>(T1)"
BY_HAND = "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>"
ADAM = "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>(T1)"
SILU = "vectorized_elementwise_kernel<4, silu_kernel>"
BACKWARD = "vectorized_elementwise_kernel<4, silu_backward_kernel>"
COPY = "elementwise_kernel<128, 4, direct_copy_kernel_cuda>"
ADDED = "indexFuncLargeIndex<float, ReduceAdd>"
CLASSES = {
    FILL: "copy", LOOK: "embedding", FOREACH: "optimizer", ADAM: "optimizer", BY_HAND: "elementwise",
    SILU: "elementwise", BACKWARD: "elementwise", COPY: "copy", ADDED: "embedding", "gemm": "matmul",
}  # fmt: skip
UNKNOWN = "No report shows whether they begin alike."
Op = tuple[str, int, int, int]
"""Name of a kernel, start and end in ns, and its blocks."""


def ran(publish: Publish, *work: Op, backward: frozenset[str] = frozenset(), **tables: Any) -> str:
    """A capture of kernels on one stream, each called 5 ns before it starts; those of `backward` by autograd."""
    titles = list(dict.fromkeys(title for title, *_ in work))
    rows = [
        kernel(i, titles.index(title), start, end, call_id=i, global_pid=made.PID, grid_x=blocks)
        for i, (title, start, end, blocks) in enumerate(work)
    ]
    calls = [
        made.call(i, 1, start - 5, start - 4, made.WORKER if title in backward else made.MAIN)
        for i, (title, start, _, _) in enumerate(work)
    ]

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [H100 | {"memory_bandwidth_bytes_per_s": 1_200_000_000_000}])
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": work[-1][2], "duration_ns": work[-1][2]}])
        insert(db, "kernel_name", [name(i, title, CLASSES[title], title) for i, title in enumerate(titles)])
        insert(db, "kernel", rows)
        insert(db, "busy", [{"device_id": 0, "start_ns": start, "end_ns": end} for _, start, end, _ in work])
        for table, more in ({"api_call": calls} | tables).items():
            insert(db, table, more)

    return str(publish(fill))


AUTOGRAD = [{"global_tid": made.WORKER, "global_pid": made.PID, "name": "pt_autograd_0"}]


def test_dense_embedding_gradients(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """By hand: a table of 64 Mi numbers, 131,072 blocks of 512, which 100 µs fill at 2.7 TB/s; 8 a thread need 5.4."""
    table = 131_072 * 512

    def found(*update: Op, look: str = LOOK, between: tuple[Op, ...] = ()) -> Any:
        work = (
            ("gemm", 10, 100 * US, 132), (FILL, 101 * US, 201 * US, 131_072), *between,
            (FILL, 202 * US, 203 * US, 1), (look, 204 * US, 214 * US, 500), *update, ("gemm", 900 * US, MS, 132),
        )  # fmt: skip
        report = ran(publish, *work, backward=frozenset({FILL, LOOK, "gemm"}), thread=AUTOGRAD)
        return judged(library, report, "dense_embedding_gradients")

    share = (FOREACH, 300 * US, 700 * US, table // 65_536 * 2)  # the table is half of the numbers that it updates
    one = found(share)
    assert (one.verdict, one.facts["tables"], one.facts["numbers"]) == ("fires", 1, table)
    assert (one.facts["fill_ns"], one.facts["update_ns"]) == (100 * US, 200 * US)
    assert one.value == pytest.approx(100 * 300 * US / (MS - 10))
    by_hand = found((BY_HAND, 300 * US, 500 * US, 131_072), (BY_HAND, 500 * US, 501 * US, 100))
    assert by_hand.facts["update_ns"] == 200 * US, "a smaller tensor is not the table"
    assert found(share, look="gemm").value == 0
    assert found(share, between=(("gemm", 201 * US, 202 * US, 132),)).value == 0, "the fill of another operation"
    split = found(share, between=((FILL, 201 * US, 301 * US, 131_072),))
    assert (split.facts["fill_ns"], split.facts["update_ns"]) == (200 * US, 400 * US), "a table of two fills"
    assert split.facts["numbers"] == 2 * table
    step = ((FILL, 101, 201, 131_072), (LOOK, 204, 214, 500), (FOREACH, 300, 700, table // 65_536 * 2))
    bare = [(title, (at + s) * US, (at + e) * US, blocks) for at in (0, 1_000) for title, s, e, blocks in step]
    report = ran(publish, *bare, backward=frozenset({FILL, LOOK}), thread=AUTOGRAD)
    two = judged(library, report, "dense_embedding_gradients")
    assert (two.facts["fill_ns"], two.facts["update_ns"]) == (200 * US, 400 * US), "two passes, without any product"
    assert sampled(nsys_samples, "transformer_training", "dense_embedding_gradients").verdict == "clear"


@pytest.fixture
def passes(library: Library, publish: Publish) -> Any:
    """Judges passes of 100 µs with two activations, which the CPU launches 30 µs apart, so in 60 µs altogether."""

    def found(*blocks: int, halves: int = 2, last: str = "gemm", between: str = "") -> Any:
        work: list[Op] = []
        calls = []
        for i, size in enumerate(blocks):
            for half in range(halves):
                start, called = (100 * i + 50 * half) * US, (100 * i + 30 * half) * US - 100
                calls.append(made.call(len(work), 1, called, called + 10))
                work.append((SILU, start, start + 40 * US, size))
            work += [(between, (100 * i + 92) * US, (100 * i + 94) * US, 1)] if between else []
        work.append((last, MS, MS + US, 1))
        return judged(library, ran(publish, *work, api_call=calls), "tokens_recomputed")

    return found


def test_tokens_recomputed(passes: Any) -> None:
    one = passes(*range(100, 132, 4))
    assert (one.verdict, one.facts["passes"], one.facts["launch_ns"]) == ("fires", 7, 60 * US)
    assert one.saving_ns == 6 * 40 * US + 30 * US, "the last one ends after its second activation, at 90 µs"
    assert passes(*[100] * 8).value == 0


@MORE
def test_tokens_of_other_passes(nsys_samples: Library, passes: Any) -> None:
    assert passes(*range(100, 116, 4), *range(100, 116, 4)).facts["passes"] == 6, "two texts of four passes"
    for other in (
        range(100, 116, 4), (100, 104, 111, 113, 119, 121, 130, 139), range(132, 100, -4), range(2, 16, 2)
    ):  # fmt: skip
        assert passes(*other).value == 0, other
    assert passes(*range(100, 132, 4), halves=1).value == 0, "layers whose sizes grow"
    assert passes(*range(100, 132, 4), last=ADAM).saving_ns == 6 * 40 * US + 30 * US, "a rollout before the update"
    for trained in (ADAM, BACKWARD):
        assert passes(*range(100, 132, 4), between=trained).value == 0, "lengths of a training may grow"
    for sample in ("transformer_inference", "transformer_training"):
        assert sampled(nsys_samples, sample, "tokens_recomputed").verdict == "clear", sample


@pytest.fixture
def prompted(library: Library, publish: Publish) -> Any:
    """Judges prompts of four activations 50 µs apart, each before eight tokens whose activations are 10 µs apart."""

    def found(*blocks: int, prompts: int = 6, tokens: int = 8, more: int = 0) -> Any:
        work: list[Op] = []
        at = 0
        for number in range(prompts):
            sizes = [(40, 50, blocks[number % len(blocks)])] * 4 + [(5, 10, 10)] * (4 * tokens + more)
            for length, every, size in sizes:
                work.append((SILU, at, at + length * US, size))
                at += every * US
        work.append(("gemm", at, at + US, 1))
        return judged(library, ran(publish, *work), "prompts")

    return found


def test_prompts(prompted: Any) -> None:
    one = prompted(1_600)
    assert (one.verdict, one.severity, one.saving_ns) == ("fires", "low", None)
    assert one.value == pytest.approx(100 * 6 * 200 / (6 * 520 + 1))
    assert (one.facts["prompts"], one.facts["prompt_ns"], one.facts["blocks"]) == (6, 200 * US, 1_600)
    said = strip_sentence(one)
    assert said.startswith("6 prompts of one length take 38.4 % of the time, 200 µs each (median): ")
    assert said.endswith("1,600 blocks in each, 160 times as many as in the tokens that follow. " + UNKNOWN)
    assert prompted(150).value == 0


@MORE
def test_prompts_of_other_lengths(nsys_samples: Library, prompted: Any) -> None:
    both = prompted(1_600, 800)
    assert (both.facts["blocks"], both.facts["ratio"]) == (None, 80)
    assert strip_sentence(both).startswith("6 prompts of several lengths take 38.4 % of the time, ")
    assert prompted(160).facts["ratio"] == 16
    for other in (prompted(1_600, prompts=5), prompted(1_600, tokens=7), prompted(1_600, more=1)):
        assert other.value == 0
    assert prompted(1_600, tokens=16).verdict == "clear", "200 of 840 µs"
    for sample in ("transformer_inference", "transformer_training"):
        assert sampled(nsys_samples, sample, "prompts").verdict == "clear", sample


@pytest.mark.parametrize(
    ("back", "between", "cause"),
    [
        (1024, False, "few results"),
        pytest.param(2048, False, None, marks=MORE),
        pytest.param(1024, True, None, marks=MORE),
    ],
)
def test_a_hot_kernel_that_adds_into_few_numbers(
    library: Library, publish: Publish, back: int, between: bool, cause: str | None
) -> None:
    """By hand: a result of 1,024 bytes is set before each launch, and read after it or after another kernel."""
    work: list[Op] = []
    moved: list[dict[str, Any]] = []
    for start in range(0, 100 * US, 10 * US):
        other = start + (7 * US if between else 0)
        work += [(COPY, start + US, start + 6 * US, 132), ("gemm", other, other + US // 2, 132)]
        moved += [
            made.copy(100 + len(moved), start + 600, start + 700, 1024, (0, 2)),
            made.copy(101 + len(moved), start + 8 * US, start + 8 * US + 100, back, (2, 0)),
        ]
    report = ran(publish, *sorted(work, key=lambda one: one[1]), memop=moved)
    found = judged(library, report, "hot_kernel")
    assert (found.verdict, found.cause) == ("fires", cause)
    assert ("by atomics" in fill_advice(found)[0]) == (cause is not None)
    assert ("sets 1.02 KB before a launch" in strip_sentence(found)) == (cause is not None)


@MORE
def test_tensors_that_are_copied_whenever_they_get_longer(library: Library, publish: Publish) -> None:
    """By hand: tokens of two layers, each with a long copy of the cache and a short one of the appended token."""

    def found(*blocks: int) -> Any:
        copies = [(layer, size) for size in blocks for layer in (0, 1)]
        work: list[Op] = []
        for i, (_, size) in enumerate(copies):
            at = 100 * US * i
            work += [(COPY, at + 10, at + 40 * US, size), (COPY, at + 41 * US, at + 42 * US, 4)]
        return judged(library, ran(publish, *work, ("gemm", 2 * MS, 2 * MS + US, 1)), "data_movement")

    one = found(*range(1000, 1035, 5))
    assert (one.verdict, one.cause, one.facts["grown"]) == ("fires", "concatenation", 5)
    assert "grows by 5 blocks again and again" in strip_sentence(one)
    assert found(*range(1000, 1020, 5), *range(1000, 1020, 5)).cause == "concatenation", "two texts of three tokens"
    for other in ([1000] * 7, range(1000, 1025, 5), (1000, 1001, 1003, 1006, 1010, 1015, 1021), range(10, 80, 10)):
        assert found(*other).cause is None, other
    cached, trained = (one.rule.advised("concatenation", ("PyTorch", *of)) for of in (("decode",), ("training",)))
    assert ("cache" in cached[0], "cache" in " ".join(trained)) == (True, False)


def test_additions_in_short_kernels_wait_for_nothing(library: Library, publish: Publish) -> None:
    for lasts, cause in ((11, "atomics"), (9, None)):
        work = [(ADDED, 20 * US * i, (20 * i + lasts) * US, 100) for i in range(4)]
        found = judged(library, ran(publish, *work, ("gemm", MS, MS + US, 1)), "data_movement")
        assert (found.verdict, found.cause) == ("fires", cause)


SIZES = (8_000_000, 4_000, 8_000_000, 4_000)


@pytest.fixture
def trips(library: Library, publish: Publish) -> Any:
    """Judges four copies of 2 ms to the GPU, a kernel of 1 ms, and the same four back, three times."""

    def found(back: tuple[int, ...] = SIZES, times: int = 3, sizes: tuple[int, ...] = SIZES, kernel: str = "k") -> Any:
        copies: list[dict[str, Any]] = []
        calls, work, at = [], [(0, 10, 20, US)], US
        for _ in range(times):
            for kinds, moved in (((0, 2), sizes), ((2, 0), back)):
                for size in moved:
                    copies.append(made.copy(len(copies), at, at + 2 * MS, size, kinds))
                    calls.append(made.call(len(copies) - 1, 4, at, at + 2 * MS))
                    at += 2 * MS
                work.append((at, at + 5, at + 10, at + MS))
                at += MS

        def rename(db: duckdb.DuckDBPyConnection) -> None:
            db.execute("UPDATE kernel_name SET demangled = ?", [kernel])

        report = by_hand(publish, work, rename, memop=copies, api_call=calls)
        return judged(library, report, "round_trips")

    return found


def test_round_trips(trips: Any) -> None:
    one = trips()
    assert (one.verdict, one.facts["trips"], one.facts["copies"]) == ("fires", 3, 24)
    assert one.saving_ns == 24 * 2 * MS + 2 * 10, "and 10 ns between a way back and the next way there"
    assert one.value == pytest.approx(100 * 48 / 54, rel=1e-3)
    assert one.is_cause
    assert trips(back=(4_000,)).value == 0, "a result comes back, nothing else"


@MORE
def test_trips_of_other_sizes(nsys_samples: Library, trips: Any) -> None:
    assert trips(times=2).value == 0, "too few"
    assert trips(back=(16_000_000, *SIZES)).value == 0, "most of it is not what went there"
    assert trips(back=(1_000_000, *SIZES)).verdict == "fires", "something comes with it"
    assert trips(back=SIZES[:2], sizes=SIZES[:2]).value == 0, "a few arrays may be input and results"
    of_numba = trips(back=SIZES[:2], sizes=SIZES[:2], kernel="smooth[abi:v1,cw51cXTLSUwv1sDUaKthEg]")
    assert (of_numba.verdict, of_numba.facts["trips"]) == ("fires", 3), (
        "NumPy arrays are copied both ways at each launch"
    )
    for sample in ("streams_serial", "transformer_training"):
        assert sampled(nsys_samples, sample, "round_trips").verdict != "fires", sample


def test_small_copies(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """By hand: ten copies of 1 µs, 4 µs apart, and a kernel of 50 µs, three times; joined, one of the ten remains."""

    def found(times: int = 10, size: int = 64, apart: int = 4 * US, beside: int = US) -> Any:
        copies: list[dict[str, Any]] = []
        calls, work, at = [], [(0, 10, 20, beside)], 2 * US
        for _ in range(3):
            for _ in range(times):
                copies.append(made.copy(len(copies), at, at + US, size, (1, 2)))
                calls.append(made.call(len(copies) - 1, 4, at - 1, at))
                at += US + apart
            work.append((at, at + 5, at + 10, at + 50 * US))
            at += 50 * US
        return judged(library, by_hand(publish, work, memop=copies, api_call=calls), "small_copies")

    one = found()
    assert (one.verdict, one.facts["copies"], one.facts["row_copies"], one.facts["each_bytes"]) == ("fires", 30, 10, 64)
    assert one.saving_ns == pytest.approx(3 * 9 * 5 * US, rel=1e-3)
    assert found(apart=150 * US).saving_ns == pytest.approx(3 * 9 * US, rel=1e-2), "the CPU does other work meanwhile"
    assert found(times=7).value == 0, "too few"
    assert found(size=100_000).value == 0, "limited by the link"
    assert found(beside=400 * US).value == 0, "a kernel runs meanwhile"
    for sample in ("streams_serial", "transformer_training"):
        assert sampled(nsys_samples, sample, "small_copies").verdict != "fires", sample


@pytest.fixture
def visits(library: Library, publish: Publish) -> Any:
    """Judges K(ernels) and code of the CPU (-) of 1 ms; D(ownloads) and U(ploads) of 2 ms, in steps."""

    def found(step: str, steps: int = 3, size: int = 8_000_000, *, named: bool = True) -> Any:
        copies: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        work, spans, at = [], [], 0
        for number in range(1, steps + 1):
            begin = at
            for what in step:
                if what == "K":
                    work.append((at, at + 5, at + 10, at + MS))
                elif what in "DU":
                    kinds, place = ((2, 0) if what == "D" else (0, 2)), number if named else None
                    copies.append(made.copy(len(copies), at, at + 2 * MS, size, kinds, process_range=place))
                    calls.append(made.call(len(calls), 4, at, at + 2 * MS, process_range=place))
                at += 2 * MS if what in "DU" else MS
            spans.append((begin, at, f"step_{number}"))
        return judged(library, by_hand(publish, work, memop=copies, api_call=calls, **ranges(*spans)), "round_trips")

    return found


def test_single_copies_to_the_cpu_and_back(visits: Any) -> None:
    one = visits("KD-U")
    assert (one.verdict, one.cause, one.facts["visits"], one.facts["trips"]) == ("fires", "visits", 3, 3)
    assert (one.facts["copies"], one.facts["between_ns"], one.saving_ns) == (6, 3 * MS, 15 * MS)
    assert one.value == pytest.approx(100 * 15 / 18, rel=1e-3)
    assert one.is_cause
    assert one.place == "step_1"
    assert strip_sentence(one).startswith("Data of the GPU go to the CPU and come back in the same size 3 times")
    both, tensors = (one.rule.advised("visits", ("PyTorch", *more)) for more in (("CuPy",), ()))
    assert "`cupy.from_dlpack(tensor)`" in both[0]
    assert "torch.from_numpy" in tensors[0]
    assert visits("UKDKD-U").value == 0, "the step begins with input"


@MORE
def test_other_copies_in_steps_are_no_visits(visits: Any) -> None:
    long = visits("KD------U")
    assert (long.facts["between_ns"], long.saving_ns) == (0, 12 * MS), "the CPU works on the data"
    assert visits("UKD").value == 0, "input, work and a result of the same size"
    assert visits("UKDUKDUKD").value == 0, "several of these in a range"
    assert visits("KDKU").value == 0, "a kernel works in between"
    assert visits("KD-U", steps=2).value == 0, "too few"
    assert visits("KD-U", size=999_999).value == 0, "small"
    assert visits("KD-U", named=False).value == 0, "nothing tells where a step begins"
