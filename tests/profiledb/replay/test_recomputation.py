"""Recomputed activations, by hand: the removed work, and recomputed kernels of a library."""

from dataclasses import replace

import numpy as np
import pytest

from profiledb.findings import rulebook
from profiledb.library.library import Library
from profiledb.replay import graph, simulation
from profiledb.replay.changes import CHANGES
from profiledb.replay.graph import Graph
from profiledb.replay.part import Part
from profiledb.replay.recomputation import LEAST_PCT, read_recomputed
from tests.findings.test_rules_training import AGAIN, BACK, FORWARD, trained
from tests.profiledb.replay.test_replay import LAUNCH, WAIT
from tests.support.page_reports import Publish
from tests.support.recordings import Call, Operation, recording

ROW = [
    # The kernel's class, the host's work before its launch in µs, and whether it runs again.
    ("input", 2, False), ("norm", 90, False), ("matmul", 2, False), ("gelu", 2, False), ("loss", 2, False),
    ("norm", 30, True), ("set", 2, False), ("matmul", 2, True), ("back", 80, False), ("step", 2, False),
]  # fmt: skip


def make_graph(rows: int = 4) -> tuple[Graph, Part]:
    """Return a program whose host is the bottleneck: kernels of 1 µs, launches of 2 µs."""
    calls, operations, again, now = list[Call](), list[Operation](), list[bool](), 0
    for _ in range(rows):
        for class_, work, is_again in ROW:
            now += 1_000 * work
            kind = "memset" if class_ == "set" else "kernel"
            operations.append(Operation(now + 3_000, now + 4_000, len(calls), kind=kind, class_=class_))
            calls.append(Call(LAUNCH, now, now + 2_000))
            again.append(is_again)
            now += 2_000
    built = graph.build(recording([*calls, Call(WAIT, now, now + 4_000)], operations))
    every = np.ones(len(built.chain), np.bool_), np.ones(len(operations), np.bool_)
    return built, Part(*every, {}, rows, recomputed=lambda: np.array(again))


def apply(built: Graph, part: Part, bound: str = "apply") -> Graph:
    found = getattr(CHANGES["without_recomputation"], bound)(built, part, "")
    assert isinstance(found, Graph)
    return found


def test_kept_activations_need_no_kernels_and_no_preparation() -> None:
    """Three launches of each row go, and so does the host work around them, except the usual 2 µs before a launch."""
    built, part = make_graph()
    kept, cautious = apply(built, part), apply(built, part, "cautious")
    gone = [class_ == "set" or again for class_, _, again in ROW] * 4
    assert [length == 0 for length in kept.length.tolist()] == gone, "the memory set between them goes, too"
    took = [int(simulation.replay(one).call_begin[-1]) for one in (built, cautious, kept)]
    launches = (30 + 2 + 2 + 3 * 2) * 1_000
    assert (took[0] - took[1], took[1] - took[2]) == (4 * launches, 4 * (88 + 78) * 1_000)


def test_a_kernel_elsewhere_is_no_beginning_of_what_runs_again() -> None:
    """Without the product after it, the norm of the forward pass is another one."""
    built, part = make_graph()
    operations = built.recording.operations
    product = [kernel.name for kernel in operations.kernels].index("matmul")
    name = np.where(operations.name == product, operations.name[0], operations.name)
    name[part.recomputed() & (np.arange(len(name)) % len(ROW) == 7)] = product
    other = replace(built, recording=replace(built.recording, operations=replace(operations, name=name)))
    took = [int(simulation.replay(one).call_begin[-1]) for one in (apply(built, part), apply(other, part))]
    assert took[1] - took[0] == 4 * 88_000


def test_the_change_and_its_rule_take_the_same_kernels() -> None:
    (least,) = (one.default for one in rulebook.load()["recomputation"].analysis.params if one.name == "least_pct")
    assert float(least) == LEAST_PCT


def test_without_anything_that_runs_again_nothing_changes() -> None:
    built, part = make_graph()
    nothing = replace(part, recomputed=lambda: np.zeros(len(built.recording.operations), np.bool_))
    assert CHANGES["without_recomputation"].apply(built, nothing, "") is None


@pytest.mark.parametrize(("work", "count"), [([*FORWARD, *BACK, *AGAIN, *BACK], 2), ([*FORWARD, *BACK, *BACK], 0)])
def test_a_library_tells_which_kernels_run_again(
    library: Library, publish: Publish, work: list[tuple[str, int, bool]], count: int
) -> None:
    found = read_recomputed(library, trained(publish, *work))
    first = len(FORWARD) + len(BACK)
    assert sorted(found.tolist()) == [*range(first, first + count)]
