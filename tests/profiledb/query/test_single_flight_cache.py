"""The single-flight cache: one computation for all concurrent callers, and another after a failure."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.query.single_flight_cache import SingleFlightCache


def test_what_many_ask_at_once_is_made_once() -> None:
    cache = SingleFlightCache()
    begun, go = threading.Event(), threading.Event()
    made: list[object] = []

    def make() -> tuple[object, int]:
        begun.set()
        assert go.wait(60)
        made.append(object())
        return made[-1], 10

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(cache.shared, "a", make) for _ in range(4)]
        assert begun.wait(60)
        assert cache.shared("b", lambda: (1, 10)) == 1, "another key waits for nobody"
        go.set()
        found = [one.result(60) for one in asked]
    assert len(made) == 1
    assert all(one is made[0] for one in found)
    assert not cache._turns


def test_what_fails_is_kept_for_nobody() -> None:
    cache = SingleFlightCache()
    begun, go = threading.Event(), threading.Event()

    def fail() -> int:
        begun.set()
        assert go.wait(60)
        raise ArithmeticError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.copy_of, "a", fail)
        assert begun.wait(60)
        second = pool.submit(cache.copy_of, "a", lambda: 2)
        go.set()
        with pytest.raises(ArithmeticError):
            first.result(60)
        assert second.result(60) == 2, "who waited for it works it out"
    assert cache.copy_of("a", lambda: 3) == 2
    assert not cache._turns


def test_everybody_gets_a_copy() -> None:
    cache = SingleFlightCache()
    first = cache.copy_of("a", lambda: [[1]])
    first[0].append(2)
    assert cache.copy_of("a", lambda: [[3]]) == [[1]]


def test_an_error_is_kept_where_it_is_an_answer() -> None:
    cache, times = SingleFlightCache(), []

    def refuse() -> int:
        times.append(1)
        raise NotCapturedError("No kernels.")

    for _ in range(2):
        with pytest.raises(NotCapturedError, match="No kernels"):
            cache.copy_of("a", refuse, keep=NotCapturedError)
    assert len(times) == 1
    for _ in range(2):
        with pytest.raises(NotCapturedError):
            cache.copy_of("b", refuse, keep=AnalysisError)
    assert len(times) == 3


def test_what_was_asked_for_last_stays_within_the_bound() -> None:
    of_one = SingleFlightCache()
    of_one.copy_of("a", lambda: b"x" * 5000)
    cache = SingleFlightCache(most_bytes=2 * of_one.bytes)
    made: list[str] = []

    def work(key: str) -> Callable[[], bytes]:
        def make() -> bytes:
            made.append(key)
            return b"x" * 5000

        return make

    for key in "abacaba":
        cache.copy_of(key, work(key))
        assert cache.bytes <= 2 * of_one.bytes
    assert made == ["a", "b", "c", "b"]
    assert len(cache) == 2
    cache.copy_of("large", lambda: b"x" * 50_000)
    assert len(cache) == 1, "the last one stays, however large it is"


def test_only_what_is_made_is_waited_for_aside() -> None:
    times: list[str] = []

    @contextmanager
    def aside() -> Iterator[None]:
        times.append("left")
        yield
        times.append("back")

    def make() -> int:
        times.append("made")
        return 1

    cache = SingleFlightCache(aside=aside)
    for _ in range(2):
        assert cache.copy_of("a", make) == 1
    assert times == ["left", "made", "back"]
