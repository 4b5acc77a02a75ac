"""Some numbers tell loops apart: sizes of a sweep do, steps and epochs do not."""

from collections.abc import Sequence

import pytest

from profiledb.library.library import Library
from tests.support.every_report import slow_but
from tests.support.page_reports import run
from tests.support.range_captures import Capture, Range, Work

MORE = pytest.mark.slow("more captures of loops")
STEPS = 3
LIBRARIES = ("CCCL:cub::DeviceRadixSort", "cuBLAS:gemm", "NCCL:ncclAllReduce")


def loops(names: Sequence[str], kernels: Sequence[str]) -> tuple[list[Range], list[Work]]:
    """Ranges of these names with steps inside, and one of the kernels in the first step of each."""
    ranges: list[Range] = []
    for at, name in zip(range(0, 1000 * len(names), 1000), names, strict=True):
        ranges.append((at, at + 900, name))
        ranges += [(at + 100 * i, at + 100 * i + 80, f"step_{i}") for i in range(STEPS)]
    return ranges, [(at + 10, at + 30, at + 50, name) for at, name in zip(range(0, 9000, 1000), kernels, strict=False)]


@pytest.mark.parametrize(
    ("names", "kernels", "expected"),
    [
        pytest.param(["batch_1", "batch_8"], [], ["batch_1/step_*", "batch_8/step_*"], marks=MORE),
        pytest.param(["resnet18", "resnet50"], [], ["resnet18/step_*", "resnet50/step_*"], marks=MORE),
        (["epoch_1", "epoch_5"], [], ["epoch_*/step_*"]),
        pytest.param(["model1", "model2"], ["one", "one"], ["model*/step_*"], marks=MORE),
        (["model1", "model2"], ["one", "two"], ["model1/step_*", "model2/step_*"]),
        pytest.param(["batch_1", "batch_2"], ["one", "two"], ["batch_1/step_*", "batch_2/step_*"], marks=MORE),
        (["batch_1", "batch_2", "batch_3"], ["one", "one", "one"], ["batch_*/step_*"]),
    ],
)
def test_which_loops_are_one(
    library: Library, capture: Capture, names: list[str], kernels: list[str], expected: list[str]
) -> None:
    rows = run(library, capture(*loops(names, kernels)), "iteration_summary")
    found = [row["steps"] for row in rows if row["steps"].endswith("step_*")]
    assert sorted(found) == expected


def test_batches_with_a_hole_are_no_loop(library: Library, capture: Capture) -> None:
    ranges: list[Range] = [(100 * i, 100 * i + 90, f"batch_{size}") for i, size in enumerate((1, 8, 64))]
    assert run(library, capture(ranges), "iteration_summary") == []
    ranges = [(100 * i, 100 * i + 90, f"batch_{number}") for i, number in enumerate((7, 8, 9))]
    assert [row["steps"] for row in run(library, capture(ranges), "iteration_summary")] == ["batch_*"]


@pytest.mark.parametrize(
    ("documents", "lost", "expected"),
    [
        (12, (7, 11), ["document *"]),
        pytest.param(12, (7, 11, 12, 13, 15), [], marks=MORE),
        pytest.param(20, range(6, 12), ["document *"], marks=MORE),
        pytest.param(20, range(7, 24, 4), ["document *"], marks=MORE),
        (20, range(6, 22, 2), []),
    ],
)
def test_steps_that_a_capture_lost_leave_holes(
    library: Library, capture: Capture, documents: int, lost: Sequence[int], expected: list[str]
) -> None:
    """Seven numbers with holes may be sizes. Longer loops may lose a stretch, or a few steps here and there."""
    kept = [number for number in range(5, 5 + documents) if number not in lost]
    ranges: list[Range] = [(100 * number, 100 * number + 90, f"document {number}") for number in kept]
    assert [row["steps"] for row in run(library, capture(ranges), "iteration_summary")] == expected


def test_operations_of_xla_are_no_steps(library: Library, capture: Capture) -> None:
    """Each document runs a module of three operations, one of which takes most of the GPU time."""
    ranges: list[Range] = []
    for at in range(0, 4000, 1000):
        ranges += [
            (at, at + 900, f"document {at // 1000}"),
            (at + 100, at + 800, "TSL:XlaModule:#hlo_module=jit_score#"),
        ]
        ranges += [(at + 110 + 200 * i, at + 300 + 200 * i, "TSL:Thunk:#hlo_op=custom-call.1#") for i in range(3)]
    found = {row["steps"] for row in run(library, capture(ranges), "iteration_summary")}
    assert found == {"document *"}


@pytest.mark.parametrize("of", slow_but(["NCCL:ncclAllReduce"], LIBRARIES, "another library of CUDA"))
def test_calls_of_a_cuda_library_are_no_steps(library: Library, capture: Capture, of: str) -> None:
    ranges: list[Range] = [(at, at + 90, of) for at in range(0, 600, 100)]
    assert not run(library, capture(ranges), "iteration_summary")
