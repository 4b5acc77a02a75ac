"""The memory that the timelines of a library use, and the plans of the views that they are built from."""

import re
from pathlib import Path

import pytest

from profiledb.timeline import build, store
from tests.support.plans import find_outer_joins_of_pairs
from tests.support.timelines import kernels, library, timelines

REPORTS = ("0123456789abcdef", "1123456789abcdef", "2123456789abcdef")


def test_timelines_that_were_asked_for_last_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_OPEN_MOST", 2)
    shelves = [
        library(tmp_path, {"kernel": kernels([100, 300], [200, 400 + number])}, report)
        for number, report in enumerate(REPORTS)
    ]
    opened = timelines(shelves[0])
    first, second = (opened.wait(report) for report in REPORTS[:2])
    assert opened.open(REPORTS[0]) is first  # so the second one is the oldest
    opened.wait(REPORTS[2])
    assert opened.open(REPORTS[0]) is first
    again = opened.open(REPORTS[1])
    assert again is not second
    assert again.version == second.version
    assert not opened._building, "a thread that has ended is nobody's"


def test_no_view_of_a_timeline_tries_all_pairs_of_rows(tmp_path: Path) -> None:
    """The critical path joined three tables on two conditions, one of the path alone: 37 s for 100,000 kernels."""
    opened = timelines(library(tmp_path, {"kernel": kernels([100, 300], [200, 400])}, REPORTS[0]))
    opened.wait(REPORTS[0])
    views = re.findall(r"VIEW (raw_\w+)", build.build_raw_views())
    with opened.cursor(REPORTS[0]) as cursor:
        cursor.execute(store._NAMES.replace("CREATE TABLE", "CREATE TEMP TABLE"))  # those of a build
        found = {view: find_outer_joins_of_pairs(cursor, f"FROM {view}") for view in views}
    assert len(found) > 10
    assert {view: told for view, conditions in found.items() if (told := set(conditions) - {"true"})} == {}
