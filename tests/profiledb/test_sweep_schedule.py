"""When the next sweep is due."""

import time

import pytest

from profiledb.sweep_schedule import CHEAP_S, SHARE, SweepSchedule


def test_a_costly_sweep_is_followed_by_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sweeps = SweepSchedule()
    assert sweeps.is_due(), "nothing was looked at yet"
    sweeps.note(CHEAP_S)
    assert sweeps.is_due(), "a cheap one may follow at once"
    sweeps.note(2.0)
    now[0] += SHARE * 2.0 - 0.1
    assert not sweeps.is_due()
    now[0] += 0.2
    assert sweeps.is_due()
    sweeps.note(2.0)
    sweeps.make_due()
    assert sweeps.is_due()
