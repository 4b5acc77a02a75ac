"""Turns: one after the other in the order of asking, others meanwhile where one waits, nobody waits for ever."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.script_queue import ScriptQueue

TIMEOUT_S = 60


def wait_for(turns: ScriptQueue, waiting: int) -> None:
    until = time.monotonic() + TIMEOUT_S
    while turns.waiting != waiting:
        assert time.monotonic() < until


def test_they_come_in_the_order_of_asking() -> None:
    turns, order = ScriptQueue(TIMEOUT_S), []

    def one(number: int) -> None:
        with turns.turn():
            order.append(number)

    with ThreadPoolExecutor(9) as pool:
        with turns.turn():
            asked = []
            for number in range(9):
                asked.append(pool.submit(one, number))
                wait_for(turns, number + 1)
            assert order == []
        for future in asked:
            future.result(TIMEOUT_S)
    assert order == list(range(9))


def test_no_two_at_once() -> None:
    turns, inside = ScriptQueue(TIMEOUT_S), []
    start = threading.Barrier(8)

    def one() -> int:
        start.wait(TIMEOUT_S)
        most = 0
        for _ in range(50):
            with turns.turn():
                inside.append(1)
                time.sleep(0)  # another thread may run
                most = max(most, len(inside))
                inside.pop()
        return most

    with ThreadPoolExecutor(8) as pool:
        assert {future.result(TIMEOUT_S) for future in [pool.submit(one) for _ in range(8)]} == {1}


def test_a_turn_within_a_turn_is_the_same() -> None:
    turns = ScriptQueue(TIMEOUT_S)
    with turns.turn(), turns.turn():
        pass
    with turns.turn():
        assert turns.waiting == 0


def test_others_have_their_turn_while_one_waits() -> None:
    turns = ScriptQueue(TIMEOUT_S)

    def one() -> str:
        with turns.turn():
            return "meanwhile"

    with ThreadPoolExecutor(1) as pool, turns.turn():
        other = pool.submit(one)
        wait_for(turns, 1)
        with turns.aside():
            assert other.result(TIMEOUT_S) == "meanwhile"
        again = pool.submit(one)  # the turn is this thread's again, as nobody had it
        wait_for(turns, 1)
    assert again.result(TIMEOUT_S) == "meanwhile"


def test_who_comes_back_does_not_wait_for_the_one_that_waits_for_it() -> None:
    turns, cache, computing = ScriptQueue(TIMEOUT_S), threading.Lock(), threading.Event()

    def first() -> None:
        with turns.turn(), cache, turns.aside():
            computing.set()
            assert second_waits.wait(TIMEOUT_S)

    def second() -> None:
        with turns.turn():
            second_waits.set()
            with cache:
                pass

    second_waits = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        assert computing.wait(TIMEOUT_S)
        other = pool.submit(second)
        one.result(TIMEOUT_S)
        other.result(TIMEOUT_S)
    with turns.turn():
        assert turns.waiting == 0


def test_an_error_ends_a_turn() -> None:
    turns = ScriptQueue(TIMEOUT_S)
    with pytest.raises(ValueError, match="wrong"), turns.turn(), turns.aside():
        raise ValueError("wrong")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(turns.turn().__enter__).result(TIMEOUT_S)


def test_one_that_never_ends_holds_nobody_up_for_ever() -> None:
    turns, end = ScriptQueue(patience_s=0.05), threading.Event()

    def stuck() -> None:
        with turns.turn():
            end.wait(TIMEOUT_S)

    def after() -> str:
        with turns.turn(), turns.aside():
            return "ran"

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(stuck)
        while not turns._taken:
            assert not held.done()
        assert pool.submit(after).result(TIMEOUT_S) == "ran"
        end.set()
        held.result(TIMEOUT_S)
    with turns.turn():
        assert turns.waiting == 0
