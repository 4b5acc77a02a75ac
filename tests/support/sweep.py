"""Sweeps: one check over many cases, every analysis of every report for example, of which a run takes a part.

The parts are the same for all processes of a run, and change by the day (UTC), so that each case has its turn within
``PARTS`` days. A whole run, ``make test-all``, takes all of them. ``WARPDECK_TEST_SWEEPS`` is ``all``, or the number of
a day as pytest prints it first, which has that day's parts again.

``sweep(parts=3)`` marks a test of many cases, which are counted by themselves. ``sweep(parts=4, of="module")`` marks
several tests of a module that take seconds each: of them together a run takes a fourth; with any other name for ``of``,
of all that say the same one. ``tests/turns.toml`` names tests of many modules that take turns in the same way, those of
a folder together. Whatever bears no mark and stands in no list always runs. In a module that is asked for by its name
all do, and so do the tests and cases of a file that was changed (changed.py).
"""

import os
import tomllib
import zlib
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support import changed

Case = TypeVar("Case")

VARIABLE = "WARPDECK_TEST_SWEEPS"
# At once, because a conftest.py below may ask before pytest is configured. The day may end before the run does: the
# processes of pytest-xdist inherit it.
os.environ.setdefault(VARIABLE, str(datetime.now(UTC).date().toordinal()))

PARTS = 32
"""Days after which every case has been checked."""


LIST = Path(__file__).resolve().parents[1] / "turns.toml"


def whole() -> bool:
    """Whether this run takes every case."""
    return os.environ[VARIABLE] == "all"


def part(cases: Iterable[Case], key: int = 0, parts: int = PARTS) -> list[Case]:
    """Those of the cases that it is the turn of: of ``parts`` one, and never none where there are any.

    ``key`` is a number of what they are cases of, so that not everything has the same turn. A case that is called like
    a changed file is always among them.
    """
    assert parts % 7, "where tests run on working days alone, some parts would never have their turn"
    every = list(cases)
    if whole() or not every:
        return every
    turn = (int(os.environ[VARIABLE]) + key) % parts
    taken = set(range(turn, len(every), parts)) or {turn % len(every)}
    return [case for number, case in enumerate(every) if number in taken or changed.case(case)]


def pytest_report_header() -> str:
    return f"sweeps: {VARIABLE}={os.environ[VARIABLE]}" + ("" if whole() else ", a part of each; all: every case")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked ``sweep`` and has not its turn: cases are counted one after the other.

    One that is asked for alone runs.
    """
    named = {argument.partition("::")[0] for argument in config.args}  # modules alone: folders are asked for often
    swept: dict[str, list[pytest.Item]] = {}
    for item in items:
        if name := _sweep_of(item, named):
            swept.setdefault(name, []).append(item)
    out = {item for name, ones in swept.items() for item in left_out(ones, zlib.crc32(name.encode()))}
    if out:
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=list(out))


def _sweep_of(item: pytest.Item, named: Collection[str]) -> str:
    """What a case is counted in: the id of its function, its module, or what its mark says; none where it runs."""
    marker, module = item.get_closest_marker("sweep"), item.nodeid.partition("::")[0]
    days = _parts(item.nodeid)
    of = marker.kwargs.get("of", "function") if marker else f"{module.rpartition('/')[0]} {days}" if days else ""
    if not of or (of != "function" and module in named):
        return ""
    return {"function": item.nodeid.partition("[")[0], "module": module}.get(of, of)


def left_out(cases: Sequence[pytest.Item], key: int) -> set[pytest.Item]:
    marker = cases[0].get_closest_marker("sweep")
    parts = marker.kwargs.get("parts", PARTS) if marker else _parts(cases[0].nodeid)
    out = set(cases) - set(part(cases, key, parts))
    return {item for item in out if not changed.item(item)}


@cache
def turns() -> dict[str, int]:
    """After how many days each listed test has had its turn, by module and name of its function."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {
        f"tests/{module}::test_{name}": int(days)
        for days, modules in listed.items()
        for module, names in modules.items()
        for name in names
    }


def _parts(nodeid: str) -> int:
    """The days of a test that the list names, else 0."""
    return turns().get(nodeid.partition("[")[0], 0)
