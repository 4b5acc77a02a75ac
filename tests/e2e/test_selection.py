"""The selection bar as a person uses it: choose a range, change the page, reload, send the link, clear."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.e2e import house

pytestmark = pytest.mark.browser
NAME = house.TRAINING
RANGE = "step_1/backward"
CHOSEN = re.compile(r"[?&]range=step_1(/|%2F)backward(&|$)")


def facts(page: Page) -> Locator:
    """The line of the bar that says how much is selected."""
    return page.locator(".st-key-selection-bar").get_by_text("of GPU time").first


def rows(page: Page, count: int) -> Locator:
    """The line below a table that says how many rows it has."""
    return page.get_by_text(f"{count:,} rows", exact=True)


def test_a_selection_goes_from_page_to_page_and_with_a_link(page: Page, address: str, library: Library) -> None:
    report = library.find(NAME).id
    every = len(analysis.run(library, report, "kernels", {"warmup": "exclude"}))
    some = len(analysis.run(library, report, "kernels", {"range": RANGE, "mode": "process"}))
    assert 0 < some < every

    page.goto(f"{address}/kernels?report={report}")
    expect(rows(page, every)).to_be_visible()
    whole = facts(page).inner_text()
    assert "Warm-up excluded" in whole
    choose(page, RANGE)
    expect(page).to_have_url(CHOSEN)
    expect(rows(page, some)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-selection-part")).to_be_attached()
    part = facts(page).inner_text()
    assert part != whole

    page.locator(".st-key-menu").get_by_text("Summary").click()
    expect(page.get_by_role("heading", name="Summary")).to_be_visible()
    expect(page).to_have_url(CHOSEN)
    expect(page.get_by_role("heading", name="GPU busy")).to_be_visible()
    expect(facts(page)).to_have_text(part)
    page.reload()
    expect(facts(page)).to_have_text(part)
    assert told_to_a_guest(page) == part

    page.get_by_role("button", name="Clear").click()
    expect(page).not_to_have_url(CHOSEN)
    expect(facts(page)).to_have_text(whole)
    expect(page.locator(".st-key-selection-whole")).to_be_attached()


def told_to_a_guest(page: Page) -> str:
    """The text of the bar for a guest with the address: a session belongs to a page, and no cookie carries it."""
    guest = house.stranger(page.context)
    try:
        guest.goto(page.url)
        return facts(guest).inner_text(timeout=60_000)
    finally:
        guest.close()


def choose(page: Page, path: str) -> None:
    """Ticks the one range that a search for its path finds."""
    page.get_by_role("button", name="Ranges").click()
    picker = page.get_by_test_id("stPopoverBody")
    search = picker.get_by_role("textbox", name="Search")
    search.fill(path)
    search.press("Enter")
    expect(picker.locator('[role="gridcell"]', has_text=path).first).to_be_attached()
    expect(picker.locator('[role="row"]')).to_have_count(2)  # its heading and the range
    house.click_table(picker.get_by_test_id("stDataFrame"), 18, 50)
