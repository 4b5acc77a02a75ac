"""Which numbers tell one loop from another: sizes of a sweep do, steps and epochs do not."""

from collections.abc import Sequence

import pytest

from profiledb.library.library import Library
from tests.support.page_reports import make_library, run
from tests.support.ranged import Capture, Range, Work, make_capture

__all__ = ["make_capture", "make_library"]  # fixtures

STEPS = 3


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
        (["batch_1", "batch_8"], [], ["batch_1/step_*", "batch_8/step_*"]),
        (["resnet18", "resnet50"], [], ["resnet18/step_*", "resnet50/step_*"]),
        (["epoch_1", "epoch_5"], [], ["epoch_*/step_*"]),
        (["model1", "model2"], ["one", "one"], ["model*/step_*"]),
        (["model1", "model2"], ["one", "two"], ["model1/step_*", "model2/step_*"]),
        (["batch_1", "batch_2"], ["one", "two"], ["batch_1/step_*", "batch_2/step_*"]),
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
