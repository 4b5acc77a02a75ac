"""Advice on strangers' reports: no flag that the capture already used, and no page without data."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from app.page_list import VIEWS
from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, captures, views
from tests.conftest import CORPUS, Once

NAMES = ("wsl2_no_kernels", "cpu_only_t4")
pytestmark = pytest.mark.skipif(
    not all((CORPUS / f"{name}.nsys-rep").exists() for name in NAMES), reason="no ../shared/corpus here"
)

"""What nsys writes into a report of the flags of --trace."""


@pytest.fixture(scope="module")
def strangers(every_report: Library, nsys: Path) -> Library:
    return every_report


@pytest.fixture(scope="module")
def asked(once: Once, nsys: Path) -> Callable[[str], set[str]]:
    """The events that a capture asked for, as the export of nsys tells them."""

    def fill(folder: Path) -> None:
        for name in NAMES:
            report = shutil.copy(CORPUS / f"{name}.nsys-rep", folder)
            argv = [str(nsys), "export", "-q", "true", "-t", "sqlite", "-o", str(folder / f"{name}.sqlite"), report]
            subprocess.run(argv, check=True, capture_output=True)

    folder = once("asked_for_exports", fill)

    def events(name: str) -> set[str]:
        with closing(connect(folder / f"{name}.sqlite")) as db:
            rows = db.execute("SELECT value FROM META_DATA_CAPTURE WHERE name = 'CAPTURE_EVENT_TYPE'").fetchall()
        return {event for (event,) in rows}

    return events


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("question", ["kernel_summary", "range_summary", "osrt_calls"])
def test_no_flag_is_advised_that_was_used(
    strangers: Library, asked: Callable[[str], set[str]], name: str, question: str
) -> None:
    event = {"kernel_summary": "Cuda", "range_summary": "NvtxEvents", "osrt_calls": "OSRuntime"}[question]
    report = strangers.find(f"{name}.nsys-rep")
    with pytest.raises(NotCapturedError) as told:
        analysis.run(strangers, report.id, question, {})
    assert ("warpdeck profile -- " in told.value.hint) == (event not in asked(name))
    assert (told.value.command == "") == (event in asked(name))
    with strangers.cursor(report.id, views=views.list_all()) as cursor:
        flags = {one.table: one.command for one in captures.list_missing(cursor)}
    assert flags["range"] == "", "NVTX was asked for in both"
    assert flags["gpu_metric"]


def test_calls_of_a_report_without_kernels_are_there(strangers: Library) -> None:
    report = strangers.find("wsl2_no_kernels.nsys-rep")
    rows = analysis.run(strangers, report.id, "api_calls", {})
    assert rows["calls"].sum() == report.rows["api_call"]


def test_pages_that_hold_nothing_are_not_offered(strangers: Library) -> None:
    class Shelf:
        def __init__(self, *beside: str) -> None:
            self.beside = beside

        def has_sidecar(self, _: str, kind: str) -> bool:
            return kind in self.beside

        def has_answer(self, report_id: str, name: str) -> bool:
            return not analysis.run(strangers, report_id, name, {}).empty

        def has_run(self, _: str) -> bool:
            return False

    def offered(name: str, *beside: str) -> list[str]:
        report = strangers.find(f"{name}.nsys-rep")
        return [
            view.url for view in VIEWS if view.listed and not view.across and not view.find_lack(report, Shelf(*beside))
        ]

    assert offered("cpu_only_t4") == ["summary", "timeline", "findings", "host", "sql"]
    assert offered("cpu_only_t4", "power", "tasks") == [
        *("summary", "timeline", "findings", "host", "energy", "cpu_vs_gpu", "sql")
    ]
    assert offered("wsl2_no_kernels") == ["summary", "timeline", "findings", "api", "host", "compare", "sql"]
