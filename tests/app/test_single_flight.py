"""What is worked out once for all sessions: by one of those who ask at once, and again where that failed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.single_flight import Once


def test_what_many_ask_at_once_is_made_once() -> None:
    once: Once[object] = Once(most=2)
    begun, go = threading.Event(), threading.Event()
    made: list[object] = []

    def work() -> object:
        begun.set()
        assert go.wait(60)
        made.append(object())
        return made[-1]

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(once.get, "a", work) for _ in range(4)]
        assert begun.wait(60)
        assert once.get("b", lambda: 1) == 1, "another key waits for nobody"
        go.set()
        found = [one.result(60) for one in asked]
    assert len(made) == 1
    assert all(one is made[0] for one in found)


def test_what_fails_is_kept_for_nobody() -> None:
    once: Once[int] = Once(most=2)
    begun, go = threading.Event(), threading.Event()

    def fail() -> int:
        begun.set()
        assert go.wait(60)
        raise ArithmeticError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(once.get, "a", fail)
        assert begun.wait(60)
        second = pool.submit(once.get, "a", lambda: 2)
        go.set()
        with pytest.raises(ArithmeticError):
            first.result(60)
        assert second.result(60) == 2, "who waited for it works it out"
    assert once.get("a", lambda: 3) == 2


def test_those_that_were_asked_for_last_stay() -> None:
    once: Once[int] = Once(most=2)
    made: list[str] = []

    def work(key: str) -> Callable[[], int]:
        def make() -> int:
            made.append(key)
            return len(made)

        return make

    for key in "abacaba":
        once.get(key, work(key))
    assert made == ["a", "b", "c", "b"]
