"""The real worker imports damaged files of every format: a few here, any number with fuzz.py."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults import fuzz

FOUND = {
    "ncu details": (5, 17, 29, 32, 771),
    "ncu-rep": (1, 3, 16, 17, 21, 30, 34, 35),
    "sqlite": (14, 17, 28, 32),
    "tasks.csv": (5, 10, 31),
    "trace": (34, 36),
}
"""Seeds of which a report once had less without a note, by kind."""


@pytest.mark.integration
def test_a_report_that_has_less_says_so(tmp_path: Path) -> None:
    """No worker dies, every file has an outcome, and a report either is complete or says that data is missing."""
    every = fuzz.kinds()
    cases = [fuzz.case(FOUND.get(kind, [seed])[0], every, kind) for seed, kind in enumerate(sorted(every))]
    assert judge(cases, every, tmp_path) >= {"failed", "told", "equal"}


@pytest.mark.integration
@pytest.mark.slow("more spoiled files of the same kinds")
def test_what_once_had_less_says_so(tmp_path: Path) -> None:
    every = fuzz.kinds()
    cases = [fuzz.case(seed, every, kind) for kind, seeds in FOUND.items() for seed in seeds[1:] if kind in every]
    cases += [fuzz.case(seed, every, kind) for seed, kind in enumerate(sorted(every)) if kind in FOUND]
    assert judge(cases, every, tmp_path) >= {"told"}


def judge(cases: Sequence[fuzz.Case], every: dict[str, fuzz.Kind], folder: Path) -> set[str]:
    """Take all of them in, and return their outcomes, none of which is bad."""
    taking = fuzz.Fuzz(every, folder)
    taking.begin()
    judged = [
        one for first in range(0, len(cases), fuzz.BATCH) for one in taking.judge(cases[first : first + fuzz.BATCH])
    ]
    assert [one for one in judged if one.outcome in fuzz.BAD] == []
    return {one.outcome for one in judged}
