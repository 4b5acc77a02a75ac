"""Answers of every analysis on each report with default parameters, computed once per test process."""

import pandas as pd
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, header


class Answers:
    """Cached frames of the most recent report; groups.py runs the tests of a report one after another.

    Tests must not modify the frames.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._report = ""
        self._cached: dict[str, pd.DataFrame | NotCapturedError] = {}

    def frame(self, report: str, name: str) -> pd.DataFrame:
        """Return the rows of an analysis of a report, by file name.

        Raises:
            NotCapturedError: the report lacks data that the analysis needs.
        """
        if report != self._report:
            self._report, self._cached = report, {}
        if name not in self._cached:
            self._cached[name] = self._ask(name)
        cached = self._cached[name]
        if isinstance(cached, NotCapturedError):
            raise cached
        return cached

    def _ask(self, name: str) -> pd.DataFrame | NotCapturedError:
        try:
            return analysis.run(self.library, self.library.find(self._report).id, name, joined(header.get(name)))
        except NotCapturedError as error:
            return error


def joined(found: header.Analysis) -> dict[str, str]:
    """Return the parameters that give an analysis of two reports its second report."""
    return {"ncu": "kernels.ncu-rep"} if found.joins == "ncu" else {}


def fitting(library: Library, name: str) -> list[header.Analysis]:
    """Return the analyses that apply to the report of this name.

    Analyses that read a linked trace are left out unless the report has operators of its own: no trace is linked here.
    """
    own = "operator" in library.find(name).rows
    return [one for one in header.list_analyses().values() if one.joins != "trace" or own]


@pytest.fixture(scope="session", name="answers")
def make_answers(every_report: Library) -> Answers:
    """Return the answers of every report."""
    return Answers(every_report)
