"""Comparisons of two reports against the second computation."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from profiledb.studies.compare import answer
from profiledb.studies.compare.matching import Side
from tests.second import compared
from tests.second.agree import agree, keyed
from tests.second.conftest import Rows, Sample, known
from tests.support import sweep

PAIRS = (
    ("streams_serial", "streams_overlapped"),
    ("idle_host_bound", "idle_fixed"),
    ("dataloader_starved", "dataloader_fixed"),
    ("launches_tiny", "launches_graph_nodes"),
    ("launches_tiny", "launches_graph"),
    ("transformer_training", "transformer_steps"),
    ("ddp_strong_2_rank0", "ddp_strong_4_rank0"),
)


def side(sample: Sample) -> Side:
    return answer.gather_side(sample.library, sample.report, {"mode": "process"})


class Pair:
    """Two samples, and their comparison."""

    def __init__(self, a: Sample, b: Sample) -> None:
        self.a, self.b = a, b
        self.sides = side(a), side(b)

    def rows(self, table: str, basis: Any = "total") -> Rows:
        frame = answer.make_table(table, self.sides[0], self.sides[1], basis)
        return [{str(c): known(v) for c, v in row.items()} for row in frame.to_dict("records")]

    def measures(self, names: Collection[str]) -> dict[tuple[Any, ...], Any]:
        """The measures of the summary of these names, by name."""
        return {(row["measure"],): row for row in self.rows("summary") if row["measure"] in names}


@pytest.fixture(scope="module")
def pair_of(sample_of: Callable[[str], Sample]) -> Callable[[tuple[str, str]], Pair]:
    made: dict[tuple[str, str], Pair] = {}

    def of(names: tuple[str, str]) -> Pair:
        if names not in made:
            made[names] = Pair(*map(sample_of, names))
        return made[names]

    return of


@pytest.fixture
def pair(request: pytest.FixtureRequest, pair_of: Callable[[tuple[str, str]], Pair]) -> Pair:
    return pair_of(request.param)


EVERY_PAIR = pytest.mark.parametrize("pair", sweep.part(PAIRS, 3, parts=8), indirect=True, ids="-".join)
"""A sweep: one or two of the pairs in a run, all tests of each."""


def both(second: Callable[[Any], dict[str, float]], pair: Pair) -> dict[tuple[Any, ...], dict[str, float]]:
    """A row a measure that either side has."""
    a, b = (second(one.capture) for one in (pair.a, pair.b))
    return {
        (name,): {letter: float(side[name]) for letter, side in (("a", a), ("b", b)) if name in side}
        for name in {*a, *b}
    }


@EVERY_PAIR
def test_kernels(pair: Pair) -> None:
    if pair.a.capture.kernels and pair.b.capture.kernels:
        second = compared.kernels(pair.a.capture, pair.b.capture)
        agree(keyed(pair.rows("kernels"), "demangled"), second)


@EVERY_PAIR
def test_kernels_of_a_step(pair: Pair) -> None:
    if pair.a.capture.kernels and pair.b.capture.kernels:
        second = compared.kernels_of_a_step(pair.a.capture, pair.b.capture)
        rows = {
            key: row
            for key, row in keyed(pair.rows("kernels", "step"), "demangled").items()
            if key in second  # what runs outside of the steps alone is no matter of a step
        }
        agree(rows, second)


@EVERY_PAIR
def test_copies(pair: Pair) -> None:
    agree(keyed(pair.rows("copies"), "direction"), compared.copies(pair.a.capture, pair.b.capture))


@EVERY_PAIR
def test_summary(pair: Pair) -> None:
    second = both(compared.summary, pair)
    agree(pair.measures({name for (name,) in second}), second)


@EVERY_PAIR
def test_summary_of_a_step(pair: Pair) -> None:
    second = both(compared.of_a_step, pair)
    agree(pair.measures({name for (name,) in second}), second)


@EVERY_PAIR
def test_copies_of_the_summary(pair: Pair) -> None:
    second = both(compared.moved, pair)
    agree(pair.measures({name for (name,) in second}), second)
