"""What each analysis answers of each report when nothing is chosen: asked once for all tests of a process."""

from collections.abc import Iterator

import pandas as pd
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header
from tests.support import changed, sweep


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


def turns(library: Library, name: str) -> Iterator[tuple[int, header.Analysis]]:
    """The analyses whose turn it is in a sweep over the reports of a library, for the report of this name.

    Of each it is the turn of a part of the reports that have what it needs, of one at least, and of a part of the
    others; of one whose file was changed, of all. The number of an analysis is different for neighbors among its
    reports. What asks a linked trace is left out where the report has no operators of its own: none is linked here.
    """
    reports = sorted(library.list(), key=lambda report: report.name)
    own = "operator" in library.find(name).rows
    for key, asking in enumerate(header.analyses().values()):
        if asking.joins == "trace" and not own:
            continue
        having = {has: [one.name for one in reports if has_needs(one, asking) == has] for has in (True, False)}
        for names in having.values():
            if name in (names if changed.case(asking.name) else sweep.part(names, key)):
                yield key + names.index(name), asking


def has_needs(report: Manifest, asking: header.Analysis) -> bool:
    """Whether a report has rows of what an analysis needs, by the tables of its own alone."""
    return all(any(table in report.rows for table in tables) for tables in asking.needs)


@pytest.fixture(scope="session", name="answers")
def make_answers(every_report: Library) -> Answers:
    """The answers of every report that there is."""
    return Answers(every_report)
