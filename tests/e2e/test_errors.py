"""Errors that happen outside of what a page draws: a sentence, and the page stays."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.pages import dashboard
from profiledb.report.library import Library
from tests.conftest import SAMPLES, ingest_files

pytestmark = pytest.mark.browser


def test_a_callback_that_fails_leaves_the_page_and_the_menu(page: Page, tmp_path: Path) -> None:
    ingest_files(tmp_path, [SAMPLES / "transformer_inference.sqlite"])
    library = Library(tmp_path / "library")
    with closing(sqlite3.connect(library.folder / "catalog.sqlite")) as db, db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON label BEGIN SELECT RAISE(FAIL, 'the secret words'); END")
    with dashboard({"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off"}) as address:
        page.goto(address)
        table = page.get_by_test_id("stDataFrame").first
        table.click(position={"x": 18, "y": 51})
        page.get_by_role("button", name="Labels").click()
        field = page.get_by_test_id("stPopoverBody").get_by_role("combobox")
        field.fill("baseline")
        field.press("Enter")
        expect(page.get_by_text("Something went wrong on this page").first).to_be_visible()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page.get_by_text("Something went wrong on this page")).to_have_count(1)
        expect(table).to_be_visible()
        expect(page.locator(".st-key-menu").get_by_text("Summary")).to_be_visible()
        expect(page.get_by_test_id("stException")).to_have_count(0)
        expect(page.get_by_text("secret words")).to_have_count(0)
