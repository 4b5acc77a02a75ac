"""Every page that fits opens on a trace of the PyTorch profiler; analyses answer or say what would record it."""

import shutil
from pathlib import Path

import pytest

from app.pages import VIEWS
from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.query import analysis, header
from profiledb.report.catalog import TIMELINE, Manifest
from profiledb.report.library import Library
from tests.app.conftest import Dashboard
from tests.app.test_nvtx_page import said
from tests.conftest import ROOT, run_ingest

TRACE = ROOT / "tests/data/torch/training.pt.trace.json.gz"
NEVER = ("--trace=cuda", "nsys profile --cuda-graph", "--trace=cuda,nvtx", "NVTX")
"""Advice for nsys where the PyTorch profiler has options of its own, and what the ranges of a trace are not."""


@pytest.fixture
def report(empty: Path) -> tuple[Library, Manifest]:
    """The trace, in the library of the dashboard, through the real worker."""
    inbox = empty / "inbox"
    inbox.mkdir(parents=True)
    shutil.copy(TRACE, inbox)
    library = Library(empty / "library")
    run_ingest(inbox, library.folder)
    return library, library.list()[0]


def test_every_page_opens(dashboard: Dashboard, report: tuple[Library, Manifest]) -> None:
    manifest = report[1]
    for view in VIEWS:
        at = dashboard(view.url, report=manifest.id)
        texts = said(at)
        assert (view.url, list(at.exception), list(at.error)) == (view.url, [], [])
        assert view.fits(manifest) == (view.subject in (None, TIMELINE)), view.url
        assert (view.url, [one for one in NEVER if one in texts]) == (view.url, [])


def test_every_analysis_answers(report: tuple[Library, Manifest]) -> None:
    library, manifest = report
    answered, missing = set(), dict[str, str]()
    for one in header.analyses().values():
        try:
            rows = analysis.run(library, manifest.id, one.name)
        except (NotCapturedError, NotLinkedError) as error:
            missing[one.name] = error.hint
            continue
        assert list(rows.columns) == [column.name for column in one.columns]
        answered.add(one.name)
    assert [name for name, hint in missing.items() if hint.endswith(("--trace=cuda`", "--trace=cuda,nvtx`"))] == []
    assert {"kernels", "nvtx_tree", "api_calls", "iterations", "idle_reasons", "phase_split", "copies"} <= answered
