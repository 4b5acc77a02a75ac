"""Pages of a report whose file in the library is damaged, and of its neighbors."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.page_list import VIEWS, View
from app.ui import format as fmt
from profiledb.library.catalog import LAUNCHES, Manifest
from profiledb.library.library import Library
from tests.app.conftest import MAIN, Dashboard

SECRET = "the secret words "


def damaged(library: Library, kind: str) -> Manifest:
    """The newest report of a kind, with another content than the worker wrote."""
    found = next(report for report in library.list() if report.kind == kind)
    library.path(found.id).unlink()  # other tests have the same file under another name
    library.path(found.id).write_text(SECRET * 5000)
    return found


@pytest.mark.parametrize("view", [view for view in VIEWS if not view.across], ids=lambda view: view.url)
def test_every_page_says_that_its_report_is_damaged(dashboard: Dashboard, library: Library, view: View) -> None:
    found = damaged(library, "ncu" if view.subject == LAUNCHES else "nsys")
    at = dashboard(view.url, report=found.id)
    assert not at.exception
    assert at.header[0].value == fmt.plain(view.title), "the page stands under its title, with the menu beside it"
    said = [error.value.replace("\\", "") for error in at.error]
    assert said
    assert all(f"The file of {found.name} in the library is damaged" in one for one in said)
    assert not any(SECRET in code.value or "IO Error" in code.value for code in at.code)


def test_a_damaged_report_leaves_the_others(dashboard: Dashboard, library: Library) -> None:
    found = damaged(library, "nsys")
    assert dashboard("summary", report=found.id).error
    other = next(report for report in library.list() if report.kind == "nsys" and report.id != found.id)
    again = dashboard("kernels", report=other.id)
    assert not again.exception
    assert not again.error


def test_a_report_that_is_compared_with_a_damaged_one_says_so(dashboard: Dashboard, library: Library) -> None:
    found = damaged(library, "nsys")
    mine = next(report for report in library.list() if report.kind == "nsys" and report.id != found.id)
    at = dashboard("compare", report=mine.id, other=found.id)
    assert not at.exception
    assert any("is damaged" in error.value for error in at.error)


def test_a_damaged_report_can_be_deleted(dashboard: Dashboard, library: Library) -> None:
    found = damaged(library, "nsys")
    row = [report.id for report in library.list()].index(found.id)
    at = dashboard("kernels", report=found.id)
    at = dashboard()
    assert not at.error
    key = at.dataframe[0].key
    assert key is not None
    at.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    at.run()
    next(button for button in at.button if button.label == "Delete").click().run()
    at.button(key="delete-confirmed").click().run()
    assert not at.exception
    assert found.id not in {report.id for report in library.list()}
    assert not list(library.reports.glob(f"{found.id}*"))


def test_a_damaged_catalog_is_a_sentence(dashboard: Dashboard, library: Library) -> None:
    (library.folder / "catalog.sqlite").write_text(SECRET * 500)
    at = dashboard()
    assert not at.exception
    assert any("library's catalog is damaged" in error.value for error in at.error)
    assert not any(SECRET in error.value for error in at.error)


def test_the_library_says_that_the_catalog_was_rebuilt(dashboard: Dashboard, library: Library) -> None:
    assert not any("damaged" in warning.value for warning in dashboard().warning)
    (library.folder / "catalog.sqlite").write_text(SECRET * 500)
    library.recover()
    at = dashboard()
    assert not at.error
    assert any("catalog.damaged-" in warning.value.replace("\\", "") for warning in at.warning)
    assert len(at.dataframe[0].value) == len(library.list()) > 0


def test_a_part_of_the_frame_that_fails_leaves_the_page(data: Path, tmp_path: Path) -> None:
    """Without its logo the dashboard cannot draw the header, but it still draws the page."""
    script = tmp_path / "app" / "dashboard.py"
    script.parent.mkdir()
    script.write_text(MAIN.read_text().replace("Path(__file__).resolve().parent.parent", repr(MAIN.parent.parent)))
    script.write_text(f"from pathlib import Path, PosixPath\n{script.read_text()}")
    at = AppTest.from_file(str(script), default_timeout=60).run()
    assert not at.exception
    assert "Something went wrong" in at.error[0].value
    assert [one.label for one in at.sidebar.expander], "the menu"
    assert len(at.dataframe[0].value)
