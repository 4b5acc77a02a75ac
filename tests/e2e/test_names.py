"""Whole names in tables: on hover and by keyboard, copied with one click, and never read as HTML."""

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from app.ui.name_card import BOX_PX
from app.views.library.table import COLUMNS
from app.views.library.table import ROW_PX as LIBRARY_ROW_PX
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.e2e import house

pytestmark = pytest.mark.browser
HEAD_PX, ROW_PX = 31, 32


@pytest.fixture
def page(visitor: Page) -> Page:
    """The tests look with the same page, one after the other."""
    return visitor


@pytest.fixture
def full(library: Library) -> dict[tuple[str, str], str]:
    """The full names of kernels by short name and time, as the cells of a row hold them."""
    rows = analysis.run(library, library.find(house.TRAINING).id, "kernels", {"warmup": "exclude"})
    return {(row["name"], str(row["total_ns"])): row["demangled"] for row in rows.to_dict("records")}


def kernels(page: Page, address: str, report: str) -> Locator:
    """The table of a report's kernels, at rest."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    house.show(page, address, f"/kernels?report={report}")
    expect(page.get_by_test_id("glide-cell-0-0")).to_be_attached()
    expect(page.get_by_test_id("stBidiComponentIsolated").locator("button.copy")).to_be_attached()
    return page.get_by_test_id("stDataFrame")


def name(page: Page, row: int) -> str:
    """The short name in a row."""
    return str(page.get_by_test_id(f"glide-cell-0-{row}").text_content())


def wanted(page: Page, full: dict[tuple[str, str], str], row: int) -> str:
    """The full name of the kernel in a row of the table."""
    shown, total = name(page, row), str(page.get_by_test_id(f"glide-cell-2-{row}").text_content())
    return next(text for (short, ns), text in full.items() if ns == total and shown.startswith(short))


def inside(table: Locator) -> FloatRect:
    box = table.locator(".dvn-scroller").bounding_box()
    assert box
    return box


def point(page: Page, table: Locator, row: int) -> None:
    """Moves the pointer over the name in a row."""
    box = inside(table)
    page.mouse.move(box["x"] + 90, box["y"] + HEAD_PX + (row + 0.5) * ROW_PX, steps=4)


def card(page: Page) -> Locator:
    return page.get_by_role("group", name="Whole name")


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.slow("draws a table of long names")
def test_the_library_shows_names_as_a_whole(page: Page, address: str) -> None:
    """Its rows have a checkbox before the first column, and a column of buttons without names."""
    page.goto(address)
    cells = page.get_by_test_id("glide-cell-2-0"), page.get_by_test_id("glide-cell-2-1")
    expect(cells[1]).to_be_attached()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stBidiComponentIsolated").locator("button.copy")).to_be_attached()
    begin = BOX_PX + dict(COLUMNS.values())["Open"]
    box = inside(page.get_by_test_id("stDataFrame"))
    for row in (1, 0):
        page.mouse.move(box["x"] + begin + 8, box["y"] + (row + 1.5) * LIBRARY_ROW_PX, steps=4)
        expect(card(page).locator("code")).to_have_text(str(cells[row].text_content()))
    page.mouse.move(box["x"] + begin - 8, box["y"] + 1.5 * LIBRARY_ROW_PX, steps=4)
    expect(card(page)).to_be_hidden()


WATCH_LABELS = """button => {
  button.shown = [];
  new MutationObserver(() => button.shown.push(button.textContent)).observe(button, {childList: true});
}"""
"""The button says for a second and a half that it copied, which a look now and then may miss on a busy machine."""


def test_a_name_under_the_pointer_is_whole_and_copied_with_one_click(
    page: Page, address: str, full: dict[tuple[str, str], str]
) -> None:
    table = kernels(page, address, house.TRAINING)
    assert all(wanted(page, full, row) != name(page, row) for row in (5, 2))
    for row in (5, 2):
        point(page, table, row)
        expect(card(page).locator("code")).to_have_text(wanted(page, full, row))
        button = card(page).get_by_role("button", name="Copy").element_handle()
        button.evaluate(WATCH_LABELS)
        button.click()
        page.wait_for_function("button => button.shown.includes('Copied')", arg=button)
        assert copied(page) == wanted(page, full, row)
    page.keyboard.press("Escape")
    expect(card(page)).to_be_hidden()
    assert "/kernels?" in page.url


def test_a_hostile_name_is_shown_and_does_nothing(page: Page, address: str) -> None:
    table = kernels(page, address, house.HOSTILE)
    expect(page.get_by_test_id("glide-cell-0-0")).to_contain_text("<img")  # not those of the report before
    point(page, table, 0)
    expect(card(page).locator("code")).to_have_text(house.HTML)
    expect(card(page).locator("img")).to_have_count(0)
    assert page.title() != "taken"


@pytest.mark.slow("goes through a table key by key")
def test_keys_reach_names_without_opening_them(page: Page, address: str, full: dict[tuple[str, str], str]) -> None:
    """Tab selects the first cell of a table, which is no click. Enter is one."""
    kernels(page, address, house.TRAINING)
    page.get_by_test_id("stElementToolbarButton").last.get_by_role("button").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_test_id("glide-cell-0-0")).to_be_focused()
    for row in (1, 2):
        page.keyboard.press("ArrowDown")
        expect(page.get_by_test_id(f"glide-cell-0-{row}")).to_be_focused()
    kernel = wanted(page, full, 2)
    expect(card(page).locator("code")).to_have_text(kernel)
    page.keyboard.press("Control+c")
    expect(card(page).get_by_text("Copied")).to_be_visible()
    assert copied(page) == kernel
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    assert "/kernels?" in page.url
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Kernel", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stCode").get_by_text(kernel)).to_be_visible()


@pytest.mark.slow("goes through a table key by key")
def test_a_click_opens_a_name_after_keys_were_used(page: Page, address: str) -> None:
    table = kernels(page, address, house.TRAINING)
    page.get_by_test_id("stElementToolbarButton").last.get_by_role("button").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_test_id("glide-cell-0-0")).to_be_focused()
    box = inside(table)
    page.mouse.click(box["x"] + 90, box["y"] + HEAD_PX + 3.5 * ROW_PX)
    expect(page.get_by_role("heading", name="Kernel", exact=True)).to_be_visible()
