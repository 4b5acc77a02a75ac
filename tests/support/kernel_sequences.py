"""Synthetic kernel sequences of programs with and without loops.

tests/data/steps.toml lists the number of iterations of each.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import duckdb

from tests.support.page_reports import insert, kernel, name

Launch = tuple[str, float, int, int]
"""Name, length and preceding pause (µs; the length is scaled by the step time), stream, grid."""
Program = Callable[[random.Random], Iterable[Launch]]
PROGRAMS: dict[str, Program] = {}


def program(made: Program) -> Program:
    PROGRAMS[made.__name__] = made
    return made


def run(names: Sequence[str] | str, length: float = 10, stream: int = 7, grid: int = 8) -> Iterator[Launch]:
    """Yield kernels one after another; each letter is a name."""
    return ((one, length, stream, grid) for one in names)


def pause(length: float) -> Launch:
    return ("", length, 7, 0)


def fill(db: duckdb.DuckDBPyConnection, chosen: str) -> None:
    """Write a program's kernels into an empty report."""
    ids: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    now, numbers = 0.0, count(1)
    for title, length, stream, grid in PROGRAMS[chosen](random.Random(chosen)):
        if title:
            name_id = ids.setdefault(title, len(ids) + 1)
            begin = int(1000 * now)
            end = begin + max(1, int(1000 * length))
            rows.append(kernel(next(numbers), name_id, begin, end, stream_id=stream, grid_x=grid))
        now += length + (1 if title else 0)
    stop = int(1000 * now) + 1
    insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": stop, "duration_ns": stop}])
    insert(db, "kernel_name", [name(number, title) for title, number in ids.items()])
    insert(db, "kernel", rows)


@program
def plain(_: random.Random) -> Iterable[Launch]:
    for _step in range(20):
        yield from run("abcd")


@program
def warm_up(_: random.Random) -> Iterable[Launch]:
    """Setup kernels run once, and the first steps are slow because they load code."""
    yield from run("ijklm")
    for step in range(20):
        yield from run("abcde", 10 * (20, 5, 2)[step] if step < 3 else 10)


@program
def growing(_: random.Random) -> Iterable[Launch]:
    for step in range(30):
        yield from run("abcdef", 10 + 40 * step / 29)


@program
def growing_grids(_: random.Random) -> Iterable[Launch]:
    for step in range(25):
        yield from run("abc", 10 + step, grid=8 + step)


@program
def decoding(_: random.Random) -> Iterable[Launch]:
    """Three generations of 12 tokens, whose attention grows: they are not two iterations from start to start."""
    for _generation in range(3):
        yield from run("pq")
        for token in range(12):
            for _layer in range(25):
                yield from run("abcdefg")
                yield from run("h", grid=8 + token)
            yield from run("t")


@program
def missing_last(_: random.Random) -> Iterable[Launch]:
    for _step in range(12):
        yield from run("abcdef")
    yield from run("abc")


@program
def begun_before(_: random.Random) -> Iterable[Launch]:
    yield from run("def")
    for _step in range(15):
        yield from run("abcdef")


@program
def jitter(chance: random.Random) -> Iterable[Launch]:
    for _step in range(40):
        for one in "abcde":
            yield from run(one, 10 * chance.lognormvariate(0, 0.5))


@program
def one_outlier(_: random.Random) -> Iterable[Launch]:
    for step in range(20):
        yield from run("abcd", 500 if step == 12 else 10)


@program
def sub_steps(_: random.Random) -> Iterable[Launch]:
    for _step in range(10):
        yield from run("abac")


@program
def two_of_each(_: random.Random) -> Iterable[Launch]:
    for _step in range(12):
        yield from run("aabb")
        yield pause(100)


@program
def runge_kutta(_: random.Random) -> Iterable[Launch]:
    for _step in range(15):
        yield from run("xyzs" * 3 + "uvs" * 3)


@program
def strang_splitting(_: random.Random) -> Iterable[Launch]:
    """Two directions whose order alternates from step to step."""
    for step in range(24):
        one, other = "xyzs" * 3, "uvs" * 3
        yield from run(one + other if step % 2 else other + one)


@program
def layers(_: random.Random) -> Iterable[Launch]:
    for _step in range(8):
        yield from run("hij" + "abcde" * 12)


@program
def many_layers(_: random.Random) -> Iterable[Launch]:
    for _step in range(6):
        yield from run("hi" + "abcdef" * 32)


@program
def layers_with_two_heads(_: random.Random) -> Iterable[Launch]:
    for _step in range(5):
        yield from run("ab" * 11 + "ac")


@program
def solver(_: random.Random) -> Iterable[Launch]:
    for _step in range(10):
        yield from run("r" + "pq" * 50)


@program
def solver_that_converges(chance: random.Random) -> Iterable[Launch]:
    for _step in range(20):
        yield from run("abc" + "pq" * chance.randint(8, 12))


@program
def optional_kernel(chance: random.Random) -> Iterable[Launch]:
    for _step in range(40):
        yield from run("abcd" + "e" * (chance.random() < 0.3))


@program
def validation(_: random.Random) -> Iterable[Launch]:
    for epoch in range(6):
        for _step in range(10):
            yield from run("z" + "abcdefghij" * 4)
        yield from run("v" if epoch % 2 else "w")


@program
def two_kernels(_: random.Random) -> Iterable[Launch]:
    for _step in range(100):
        yield from run("ab")


@program
def two_shapes(_: random.Random) -> Iterable[Launch]:
    for _step in range(30):
        yield from run("a", 10, grid=8)
        yield from run("a", 16, grid=16)


@program
def one_kernel(_: random.Random) -> Iterable[Launch]:
    yield from run("a" * 100)


@program
def ten_and_a_pause(_: random.Random) -> Iterable[Launch]:
    for _step in range(12):
        yield from run("a" * 10)
        yield pause(300)


@program
def hundred_pairs_and_a_pause(_: random.Random) -> Iterable[Launch]:
    for _step in range(8):
        yield from run("ab" * 100, 2)
        yield pause(5000)


@program
def setup_loop(_: random.Random) -> Iterable[Launch]:
    yield from run("i" * 30)
    for _step in range(40):
        yield from run("abcde")


@program
def beside_another_stream(chance: random.Random) -> Iterable[Launch]:
    """Communication at random times on a stream of its own."""
    for _step in range(25):
        for one in "abcd":
            yield from run(one)
            if chance.random() < 0.4:
                yield from run("n", 2, stream=9)


@program
def streams_take_turns(_: random.Random) -> Iterable[Launch]:
    for step in range(24):
        yield from run("abc", stream=10 + step % 4)


@program
def long_kernels_elsewhere(_: random.Random) -> Iterable[Launch]:
    """One kernel on a stream of its own takes most of the time."""
    for _step in range(10):
        yield from run("abcdefg" * 2, 2)
        yield from run("n", 200, stream=9)


@program
def no_loop(chance: random.Random) -> Iterable[Launch]:
    yield from run([chance.choice("abcdefghijkl") for _ in range(200)])


@program
def few_of_many(chance: random.Random) -> Iterable[Launch]:
    yield from run([f"k{chance.randrange(60)}" for _ in range(250)])


@program
def all_different(_: random.Random) -> Iterable[Launch]:
    yield from run([f"k{number}" for number in range(80)])


@program
def any_time(chance: random.Random) -> Iterable[Launch]:
    """One kernel at random times."""
    for _launch in range(120):
        yield from run("a", 1)
        yield pause(chance.expovariate(1 / 200))


@program
def only_the_beginning(chance: random.Random) -> Iterable[Launch]:
    for _layer in range(18):
        yield from run("ijk")
    yield from run([f"k{chance.randrange(40)}" for _ in range(300)])
