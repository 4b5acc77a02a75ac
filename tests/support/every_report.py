"""All reports as parameters of a test: the samples and, if present, the reports of the corpus.

``make test`` runs such a test on the reports in ``CHOSEN``, ``.ci/run`` on all of them.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CORPUS, SAMPLES, reports_of

REFUSED = {"corrupt.nsys-rep", "corrupt.ncu-rep", "not_nsys.sqlite"}


def companions(folder: Path) -> set[str]:
    """Return the names of the exports beside Systems reports, which are read together with their reports."""
    return {f"{path.stem}.sqlite" for path in folder.glob("*.nsys-rep")}


FILES = [
    path.name
    for folder in (SAMPLES, CORPUS)
    for path in reports_of(folder)
    if path.name not in REFUSED | companions(folder)
]
CHOSEN = {
    "transformer_training.nsys-rep": "the Systems report with most tables",
    "transformer_training.ncu-rep": "the Compute report with most launches",
    "openacc_gp100.qdrep": "the oldest format, without ranges",
    "copies_without_enums.sqlite": "an export alone, which lacks the tables of enumerations",
    "details_page_4090.csv": "a table of ncu",
    "start_end_unclosed.qdrep": "a range that never ends, and no kernel",
}
"""The reports that differ most in their content, each with the reason."""


def slow_but(chosen: Collection[Any], cases: Iterable[Any], reason: str) -> list[Any]:
    """Return the cases as parameters, marking all but the chosen ones as slow for this reason."""
    return [pytest.param(case, marks=[] if case in chosen else pytest.mark.slow(reason)) for case in cases]


MOST_DIFFERENT = ("transformer_training.nsys-rep", "transformer_training.ncu-rep", "start_end_unclosed.qdrep")
"""Those of the chosen that have least in common, for tests that ask everything."""

EVERY_REPORT = pytest.mark.parametrize("name", slow_but(CHOSEN, FILES, "every report there is"))
"""Parametrize a test by the name of each report."""
