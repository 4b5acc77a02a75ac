"""The memory that the timelines of a library use."""

from pathlib import Path

import pytest

from profiledb.timeline import store
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
