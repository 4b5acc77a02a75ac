"""Forests of ranges drawn by hypothesis, which makes a failing one small: crossing, never closed, of no length, calls
with shared correlation ids; against the same oracle as the random captures."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiledb.query import views
from tests.ingest.derive.test_attribution_fuzz import (
    check_calls,
    check_operations,
    check_ranges,
    load_export,
    projected,
)
from tests.support import sweep
from tests.support.attribution_oracle import BEGIN, Call, Capture, Export, Operation, Range

pytestmark = pytest.mark.slow

TIME = st.integers(0, 30)
RANGE = st.tuples(TIME, TIME, st.booleans(), st.sampled_from([59, 59, 60]), st.integers(0, 1), st.sampled_from("aab"))
"""Start, length, whether it is closed, kind, thread, name."""
CALL = st.tuples(TIME, st.integers(1, 8), st.integers(0, 1), st.integers(1, 5))
"""Start, length, thread, correlation id."""
OPERATION = st.tuples(st.sampled_from(["kernel", "memcpy", "memset", "graph"]), TIME, st.integers(0, 20),
                      st.integers(0, 1), st.integers(1, 6))  # fmt: skip
"""Table, start, length, device, correlation id."""
CAPTURE = st.tuples(st.lists(RANGE, max_size=40), st.lists(CALL, max_size=12), st.lists(OPERATION, max_size=12))


class Drawn(Export):
    """An export of captures as hypothesis draws them, a process each."""

    def __init__(self, drawn: list[tuple[list, list, list]]) -> None:  # type: ignore[type-arg]
        super().__init__(range(0))
        for number, (ranges, calls, operations) in enumerate(drawn, 1):
            capture = Capture((1 << 48) + ((7 + number) << 24))
            tids = (capture.main, capture.pid + 1)
            for start, length, closed, kind, thread, name in ranges:
                begin = BEGIN + start
                one = (begin, begin + length, closed, kind, name, tids[thread], None, 0)
                capture.ranges.append(Range(self._next("nvtx"), *one))
            for start, length, thread, correlation in calls:
                begin = BEGIN + start
                capture.calls.append(Call(self._next("call"), begin, begin + length, tids[thread], correlation))
            for table, start, length, device, correlation in operations:
                begin = 100 + start
                facts = (begin, begin + length, device, 7, correlation)
                capture.operations.append(Operation(table, self._next(table), *facts))
            self.captures.append(capture)
        ends = [t for c in self.captures for r in c.ranges for t in (r.start, r.end if r.closed else r.start)]
        for one_range in (r for c in self.captures for r in c.ranges if not r.closed):
            one_range.end = max(ends)


@given(st.lists(CAPTURE, min_size=1, max_size=8))
@settings(max_examples=25 if sweep.whole() else 3, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_ranges_hold_is_what_the_oracle_says(drawn: list[tuple[list, list, list]]) -> None:  # type: ignore[type-arg]
    export = Drawn(drawn)
    with (
        TemporaryDirectory() as folder,
        load_export(export, Path(folder)).cursor("fuzz", views=views.everything()) as db,
    ):
        check_calls(db, export, check_ranges(db, export))
        check_operations(db, export)
        found = {(mode, number): facts for mode, number, *facts in db.execute("FROM projection").fetchall()}
    expected = {}
    for capture in export.captures:
        calls = {o: capture.call_of(o) for o in capture.operations}
        for mode in ("thread", "process"):
            around = {o: capture.around(call, mode) if call else set() for o, call in calls.items()}
            for one in capture.ranges:
                if facts := projected([o for o, numbers in around.items() if one.id in numbers], calls):
                    expected[mode, one.id] = facts
    assert found == expected
