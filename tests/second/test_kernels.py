"""Kernels and their classes, whole and by range in both modes, and their launches, against the second computation."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import kernels
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample
from tests.second.nesting import MODES, Mode, ran
from tests.second.raw import Capture


def wide(capture: Capture, most: int = 2) -> list[str]:
    """Names of ranges that hold many kernels by the process, which tell the modes apart where anything does."""
    held = {mode: {one.row: there for one, there in ran(capture, mode).items()} for mode in MODES}
    gained: dict[str, int] = {}
    for one in capture.ranges:
        by = [held[mode][one.row].kernel_ns if one.row in held[mode] else 0 for mode in ("thread", "process")]
        gained[one.name] = gained.get(one.name, 0) + 1000 * (by[1] - by[0]) + by[1]
    return sorted((name for name in gained if gained[name]), key=lambda name: (-gained[name], name))[:most]


@EVERY
def test_kernels_of_the_report(sample: Sample) -> None:
    if not sample.capture.kernels:
        with pytest.raises(NotCapturedError):
            sample.ask("kernels")
        return
    agree(keyed(sample.ask("kernels"), "demangled"), kernels.by_name(sample.capture.operations))
    agree(keyed(sample.ask("class_split"), "class"), kernels.by_class(sample.capture.operations))


@EVERY
@pytest.mark.parametrize("mode", MODES)
def test_kernels_by_range(sample: Sample, mode: Mode) -> None:
    names = wide(sample.capture)
    for first in names[:1]:
        held = kernels.inside(sample.capture, first, mode)
        agree(keyed(sample.ask("kernels", range=first, mode=mode), "demangled"), kernels.by_name(held))
    for name in names[1:]:
        held = kernels.inside(sample.capture, name, mode)
        agree(keyed(sample.ask("class_split", range=name, mode=mode), "class"), kernels.by_class(held))


@EVERY
@pytest.mark.parametrize("mode", MODES)
def test_what_each_range_ran(sample: Sample, mode: Mode) -> None:
    """Every path of ranges: its CPU time, and its operations, kernels, span and busy time on the GPU."""
    agree(keyed(sample.ask("nvtx_tree", mode=mode), "path"), kernels.by_path(sample.capture, mode))


@EVERY
def test_launches(sample: Sample) -> None:
    second = kernels.launches(sample.capture)
    if not sample.capture.kernels:
        return
    names = {row["kernel"]: row["demangled"] for row in sample.ask("kernels")}
    ours = [row | {"full": names.get(row["kernel"])} for row in sample.ask("launch_times")]
    agree(keyed(ours, "full"), second)
