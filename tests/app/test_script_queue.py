"""The script queue: first come, first served; others run while one waits; no script waits forever."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.script_queue import ScriptQueue

TIMEOUT_S = 60


def wait_for(queue: ScriptQueue, waiting: int) -> None:
    until = time.monotonic() + TIMEOUT_S
    while queue.waiting != waiting:
        assert time.monotonic() < until


def test_they_come_in_the_order_of_asking() -> None:
    queue, order = ScriptQueue(TIMEOUT_S), []

    def one(number: int) -> None:
        with queue.wait_turn():
            order.append(number)

    with ThreadPoolExecutor(9) as pool:
        with queue.wait_turn():
            asked = []
            for number in range(9):
                asked.append(pool.submit(one, number))
                wait_for(queue, number + 1)
            assert order == []
        for future in asked:
            future.result(TIMEOUT_S)
    assert order == list(range(9))


def test_no_two_at_once() -> None:
    queue, inside = ScriptQueue(TIMEOUT_S), []
    start = threading.Barrier(8)

    def one() -> int:
        start.wait(TIMEOUT_S)
        most = 0
        for _ in range(50):
            with queue.wait_turn():
                inside.append(1)
                time.sleep(0)  # another thread may run
                most = max(most, len(inside))
                inside.pop()
        return most

    with ThreadPoolExecutor(8) as pool:
        assert {future.result(TIMEOUT_S) for future in [pool.submit(one) for _ in range(8)]} == {1}


def test_a_turn_within_a_turn_is_the_same() -> None:
    queue = ScriptQueue(TIMEOUT_S)
    with queue.wait_turn(), queue.wait_turn():
        pass
    with queue.wait_turn():
        assert queue.waiting == 0


def test_others_have_their_turn_while_one_waits() -> None:
    queue = ScriptQueue(TIMEOUT_S)

    def one() -> str:
        with queue.wait_turn():
            return "meanwhile"

    with ThreadPoolExecutor(1) as pool, queue.wait_turn():
        other = pool.submit(one)
        wait_for(queue, 1)
        with queue.step_aside():
            assert other.result(TIMEOUT_S) == "meanwhile"
        again = pool.submit(one)  # the turn is this thread's again, as nobody had it
        wait_for(queue, 1)
    assert again.result(TIMEOUT_S) == "meanwhile"


def test_who_comes_back_does_not_wait_for_the_one_that_waits_for_it() -> None:
    queue, cache, computing = ScriptQueue(TIMEOUT_S), threading.Lock(), threading.Event()

    def first() -> None:
        with queue.wait_turn(), cache, queue.step_aside():
            computing.set()
            assert second_waits.wait(TIMEOUT_S)

    def second() -> None:
        with queue.wait_turn():
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
    with queue.wait_turn():
        assert queue.waiting == 0


def test_an_error_ends_a_turn() -> None:
    queue = ScriptQueue(TIMEOUT_S)
    with pytest.raises(ValueError, match="wrong"), queue.wait_turn(), queue.step_aside():
        raise ValueError("wrong")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(queue.wait_turn().__enter__).result(TIMEOUT_S)


def test_one_that_never_ends_holds_nobody_up_for_ever() -> None:
    queue, end = ScriptQueue(max_wait_s=0.05), threading.Event()

    def stuck() -> None:
        with queue.wait_turn():
            end.wait(TIMEOUT_S)

    def after() -> str:
        with queue.wait_turn(), queue.step_aside():
            return "ran"

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(stuck)
        while not queue._is_held:
            assert not held.done()
        assert pool.submit(after).result(TIMEOUT_S) == "ran"
        end.set()
        held.result(TIMEOUT_S)
    with queue.wait_turn():
        assert queue.waiting == 0
