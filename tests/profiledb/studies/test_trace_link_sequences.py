"""Matching kernels of two orders: small orders, and any that hypothesis makes of a program captured twice."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiledb.studies.trace_link.sequences import NONE, Side, cut_pieces, match_sides
from tests.support.every_report import slow_but

Kernel = tuple[str, int, int]
"""Name (a letter), stream, step (NONE: in none)."""


def side(*kernels: Kernel, pid: int = 1, gpu: int = 0) -> Side:
    names, streams, steps = zip(*kernels, strict=True) if kernels else ((), (), ())
    lanes = np.array([(pid, gpu, stream) for stream in streams], dtype=np.int64).reshape(-1, 3)
    return Side(np.array([ord(name) for name in names], dtype=np.int64), lanes, np.array(steps, dtype=np.int64))


def run(text: str, step: int = NONE, stream: int = 7) -> list[Kernel]:
    return [(letter, stream, step) for letter in text]


def same(ours: list[Kernel], theirs: list[Kernel]) -> list[int]:
    return [int(place) for place in match_sides(side(*ours), side(*theirs))]


def test_steps_are_matched_by_what_they_run() -> None:
    ours = run("xy") + run("abc", 0) + run("abc", 1) + run("abd", 2)
    assert same(ours, run("abc", 1) + run("abd", 5)) == [NONE, NONE, 0, 1, 2, 0, 1, 2, 3, 4, 5]


def test_of_several_alike_the_one_of_the_same_name_counts() -> None:
    theirs = run("abc", 0) + run("abc", 1) + run("abc", 2)
    assert same(run("abc", 1) + run("abc", 9), theirs) == [3, 4, 5, 0, 1, 2]


def test_what_differs_in_a_step_is_left_out() -> None:
    ours, theirs = run("abcdefghijklmnopqrst", 0), run("abcdefghiJklmnopqrst", 0)
    assert same(ours, theirs) == [*range(9), NONE, *range(10, 20)]
    one_more = run("abcdefghij" + "!" + "klmnopqrst", 0)
    assert same(ours, one_more) == [*range(10), *range(11, 21)]


def test_a_step_that_differs_much_is_another_one() -> None:
    """Training starts with the kernels of inference."""
    assert same(run("abc", 0), run("abcdefghi", 0)) == [NONE] * 3
    assert same(run("abcdefghi", 0), run("abc", 0)) == [NONE] * 9


def test_other_kernels_of_the_same_number_are_none() -> None:
    assert same(run("abab"), run("cdcd")) == [NONE] * 4


def test_a_stream_is_that_of_its_number_else_the_one_that_is_left() -> None:
    ours = run("ab", stream=7) + run("cd", stream=20)
    assert same(ours, run("ab", stream=7) + run("cd", stream=13)) == [0, 1, 2, 3]
    assert same(run("ab", stream=7), run("cd", stream=7) + run("ab", stream=13)) == [NONE, NONE]


def test_another_gpu_is_another_kernel() -> None:
    assert match_sides(side(*run("ab")), side(*run("ab"), gpu=1)).tolist() == [NONE, NONE]


def test_whole_streams_count_where_steps_were_told_by_other_names() -> None:
    ours = run("ab", 0) + run("c") + run("ab", 1) + run("c")
    assert same(ours, run("abcabc")) == list(range(6))


def test_kernels_of_two_processes_are_looked_at_apart() -> None:
    one, two = side(*run("ab"), pid=1), side(*run("ab"), pid=2)
    both = Side(*(np.concatenate(columns) for columns in zip(vars(one).values(), vars(two).values(), strict=True)))
    assert match_sides(both, one).tolist() == [0, 1, 0, 1]


def test_nothing_is_nothing() -> None:
    assert same([], run("ab")) == []
    assert same(run("ab"), []) == [NONE, NONE]
    assert list(cut_pieces(side())) == []


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_pairs_have_one_name_and_one_order(data: st.DataObject) -> None:
    """For any two orders, pairs have the same name and GPU and are in order in a piece; a copy pairs completely."""
    kernel = st.tuples(st.sampled_from("abc"), st.integers(1, 2), st.integers(NONE, 2))
    ours, theirs = (
        side(*sorted(data.draw(st.lists(kernel, max_size=30)), key=lambda one: one[1])) for _ in range(2)
    )  # fmt: skip
    found = match_sides(ours, theirs)
    here = found != NONE
    assert (ours.names[here] == theirs.names[found[here]]).all()
    for one in (ours, ours.without_steps()):
        for piece in cut_pieces(one):
            places = found[piece.low : piece.high]
            if (places != NONE).all() and one is ours:
                assert len(places) < 2 or (np.diff(places) > 0).all()
    assert match_sides(ours, ours).tolist().count(NONE) == 0


@pytest.mark.parametrize("same_names", slow_but([False], [True, False], "240,000 kernels"))
def test_time_grows_with_the_kernels_alone(same_names: bool) -> None:
    def took(kernels: int) -> float:
        step = 2_000
        names = np.random.default_rng(1).integers(0, 50, step)
        every = np.tile(names, kernels // step)
        lanes = np.tile(np.array([[1, 0, 7]]), (kernels, 1))
        steps = np.repeat(np.arange(kernels // step), step)
        other = every if same_names else np.where(np.arange(kernels) % 7 == 0, 99, every)
        begin = time.process_time()
        found = match_sides(Side(every, lanes, steps), Side(other, lanes, steps))
        seconds = time.process_time() - begin
        assert (found != NONE).all() == same_names
        return seconds

    few = took(40_000)
    assert took(200_000) < 12 * few, "five times the kernels; with their square it would be 25 times"
