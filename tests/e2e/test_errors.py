"""Errors outside of a page's drawing give a sentence, and the page stays."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from profiledb.library.library import Library

pytestmark = pytest.mark.browser


@pytest.fixture
def broken(library: Library) -> Iterator[None]:
    """A catalog that takes no labels, for the time of a test."""
    catalog = library.folder / "catalog.sqlite"
    with closing(sqlite3.connect(catalog)) as db, db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON label BEGIN SELECT RAISE(FAIL, 'the secret words'); END")
    yield
    with closing(sqlite3.connect(catalog)) as db, db:
        db.execute("DROP TRIGGER no")


@pytest.mark.usefixtures("broken")
def test_a_callback_that_fails_leaves_the_page_and_the_menu(page: Page, address: str) -> None:
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
