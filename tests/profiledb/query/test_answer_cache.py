"""Answers of all sessions: computed once, each a frame of its own, bounded by bytes."""

import gc
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import duckdb
import pandas as pd
import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, request
from profiledb.query.answer_cache import Answers
from profiledb.query.request import Request
from tests.support.every_report import slow_but
from tests.support.page_reports import Publish, insert, kernel, name


@pytest.fixture
def report_id(publish: Publish) -> str:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "kernel_name", [name(1, "f")])
        insert(db, "kernel", [kernel(1, 1, 0, 9), kernel(2, 1, 10, 30)])

    return publish(fill)


def asked(library: Library, report_id: str, analysis_name: str = "kernels", **params: Any) -> Request:
    return request.build(library, report_id, analysis_name, params)


class Counted:
    """The real function, with the requests that it worked out; the first waits until ``go`` is set."""

    def __init__(self, inner: Callable[[Library, Any], Any]) -> None:
        self.inner = inner
        self.calls: list[Any] = []
        self.go = threading.Event()

    def __call__(self, library: Library, asked: Any) -> Any:
        self.calls.append(asked)
        assert self.go.wait(60)
        return self.inner(library, asked)


def both_ask(answers: Answers, library: Library, first: Request, second: Request, counted: Counted) -> list[Any]:
    """Two threads ask; the work goes on when one of them works and the other one waits for its turn."""
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(answers.answer, library, one) for one in (first, second)]
        while sum(turn.waiting for turn in list(answers.cache._turns.values())) < 2 or not counted.calls:
            assert not any(one.done() for one in waiting)
        counted.go.set()
        return [one.result(60) for one in waiting]


def test_two_that_ask_at_once_have_it_worked_out_once(
    library: Library, report_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(analysis.read_rows)
    monkeypatch.setattr(analysis, "read_rows", counted)
    one = asked(library, report_id)
    first, second = both_ask(Answers(), library, one, one, counted)
    assert counted.calls == [one]
    assert first.equals(second)
    assert first is not second


def test_nobody_changes_what_others_get(library: Library, report_id: str) -> None:
    answers, one = Answers(), asked(library, report_id)
    before = answers.answer(library, one).copy(deep=True)
    mine = answers.answer(library, one)
    mine.loc[0, "name"] = "changed"
    mine["calls"] += 7
    mine["more"] = 1
    mine.iloc[0, 0] = 99
    mine.index = pd.Index([5])
    del mine["class"]
    values = answers.answer(library, one)["avg_ns"].to_numpy()
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 0
    pd.testing.assert_frame_equal(answers.answer(library, one), before)


def test_a_restart_works_out_nothing(library: Library, gaps: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("idle_reasons", "idle_gaps", "idle_ranges", "range_paths")
    first = [Answers().answer(library, asked(library, gaps, one)) for one in names]

    def refuse(*_: Any) -> Any:
        raise AssertionError("it was answered before")

    monkeypatch.setattr(analysis, "read_rows", refuse)
    fresh, after = Library(library.folder), Answers()
    for one, rows in zip(names, first, strict=True):
        assert after.answer(fresh, asked(fresh, gaps, one)).equals(rows), one


def test_what_a_report_lacks_is_looked_up_once(
    library: Library, report_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, one = Answers(), asked(library, report_id, "range_paths")
    with pytest.raises(NotCapturedError, match="No NVTX ranges"):
        answers.answer(library, one)
    monkeypatch.setattr(analysis, "read_rows", None)
    with pytest.raises(NotCapturedError, match="No NVTX ranges") as again:
        answers.answer(library, one)
    with pytest.raises(NotCapturedError) as third:
        answers.answer(library, one)
    assert again.value is not third.value  # each has a traceback of its own


def test_an_error_is_raised_and_kept_for_nobody(library: Library, report_id: str) -> None:
    answers = Answers()
    for _ in range(2):
        with pytest.raises(AnalysisError, match="No range"):
            answers.answer(library, asked(library, report_id, range="nowhere"))
    assert not answers.cache.bytes
    assert not answers.cache._turns


def test_memory_is_bounded_by_bytes(library: Library, report_id: str) -> None:
    every = [asked(library, report_id, limit=limit) for limit in range(1, 9)]
    roomy = Answers()
    roomy.answer(library, every[0])
    answers = Answers(most_bytes=3 * roomy.cache.bytes)
    for one in every:
        answers.answer(library, one)
        assert answers.cache.bytes <= 3 * roomy.cache.bytes
    assert list(answers.cache._entries) == [one.key(library) for one in every[-3:]]


def sizes_below(root: object) -> int:
    """Return the bytes of an object and of all that it refers to, each once, besides code."""
    seen: dict[int, object] = {}
    left = [root]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, type | ModuleType | FunctionType):
            seen[id(one)] = one
            left += gc.get_referents(one)
    return sum(map(sys.getsizeof, seen.values()))


@pytest.mark.parametrize(
    "search", slow_but([""], ["", "x" * 20_000], "another hundred answers"), ids=["short request", "long request"]
)
def test_answers_are_counted_by_what_they_take(library: Library, report_id: str, search: str) -> None:
    answers = Answers()
    for limit in range(1, 101):
        answers.answer(library, asked(library, report_id, limit=limit, search=f"{search}{limit}" if search else None))
    taken = sizes_below(answers.cache._entries)
    assert taken > 100 * (2_000 + len(search))
    assert 0.9 * taken < answers.cache.bytes < 1.1 * taken


@pytest.mark.slow("reads an answer 200 times and counts every allocation")
def test_an_answer_that_is_read_often_takes_no_more_memory(library: Library, report_id: str) -> None:
    answers, one = Answers(), asked(library, report_id)

    def read(times: int) -> int:
        for _ in range(times):
            rows = answers.answer(library, one)
            assert rows["name"].to_list()
            assert rows.memory_usage(deep=True).sum()
            del rows
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        read(1)  # what pandas makes when it is used for the first time
        before = read(1)
        # Frames in memory took 300,000: a weak reference for each column, block and reader.
        assert read(200) < before + 60_000
    finally:
        tracemalloc.stop()


def test_only_what_is_not_in_memory_is_waited_for_aside(library: Library, report_id: str) -> None:
    times = []

    @contextmanager
    def aside() -> Iterator[None]:
        times.append("asked")
        yield
        times.append("answered")

    answers = Answers(aside=aside)
    answers.answer(library, asked(library, report_id))
    assert times == ["asked", "answered"]
    answers.answer(library, asked(library, report_id))
    assert times == ["asked", "answered"]
