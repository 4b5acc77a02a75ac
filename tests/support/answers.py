"""What each analysis answers of each report when nothing is chosen: asked once for all tests of a process."""

import pandas as pd
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, header


class Answers:
    """Frames of the report that was asked last; groups.py has tests of a report run one after the other.

    A test leaves them as they are.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._report = ""
        self._kept: dict[str, pd.DataFrame | NotCapturedError] = {}

    def frame(self, report: str, name: str) -> pd.DataFrame:
        """The rows of an analysis, by the name of the report's file.

        Raises:
            NotCapturedError: the report lacks what it needs.
        """
        if report != self._report:
            self._report, self._kept = report, {}
        if name not in self._kept:
            self._kept[name] = self._ask(name)
        kept = self._kept[name]
        if isinstance(kept, NotCapturedError):
            raise kept
        return kept

    def _ask(self, name: str) -> pd.DataFrame | NotCapturedError:
        try:
            return analysis.run(self.library, self.library.find(self._report).id, name, joined(header.get(name)))
        except NotCapturedError as error:
            return error


def joined(found: header.Analysis) -> dict[str, str]:
    """The parameters without which an analysis of two reports has no second one."""
    return {"ncu": "kernels.ncu-rep"} if found.joins == "ncu" else {}


def fitting(library: Library, name: str) -> list[header.Analysis]:
    """The analyses that can be asked of the report of this name.

    Those that ask a linked trace are left out where the report has no operators of its own: none is linked here.
    """
    own = "operator" in library.find(name).rows
    return [one for one in header.analyses().values() if one.joins != "trace" or own]


@pytest.fixture(scope="session", name="answers")
def make_answers(every_report: Library) -> Answers:
    """The answers of every report that there is."""
    return Answers(every_report)
