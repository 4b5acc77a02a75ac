"""The Library as a newcomer meets it, its actions on a report, and the search of the menu, in a browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from bench import pages
from bench.pages import wait_at_rest
from profiledb.library.library import Library
from tests.conftest import copy_data
from tests.e2e import house

pytestmark = pytest.mark.browser
WINDOW = {"width": 1440, "height": 900}
MOST_WORDS, LOWEST_TABLE_PX = 120, 260
WORDS = """() => {
  const words = [];
  const inSight = box => box.width > 1 && box.height > 1 && box.top < innerHeight && box.bottom > 0;
  const read = root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.shadowRoot) read(node.shadowRoot);
      const of = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      if (!of || of.closest('[data-testid="stDataFrame"], [data-testid="stIconMaterial"], style, script')) continue;
      if (!of.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      let text = node.nodeType === Node.TEXT_NODE ? node.textContent : node.value || node.placeholder || '';
      if (typeof text !== 'string' || !text.trim()) continue;
      const range = document.createRange();
      range.selectNode(node);
      if (![...range.getClientRects()].some(inSight)) continue;
      words.push(...text.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)));
    }
  };
  read(document.body);
  return words;
}"""
"""Counted: what can be read without scrolling, in the menu, too: texts, values and placeholders of fields, words with a
letter or digit. Not counted: cells and headings of the table, icons, and what is hidden or only for screen readers."""


@pytest.fixture(scope="module")
def newcomer(with_sidecars: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with nothing but samples."""
    folder = tmp_path_factory.mktemp("newcomer") / "data"
    copy_data(with_sidecars.folder.parent, folder)
    shutil.rmtree(folder / "inbox")  # samples come from a folder of their own
    library = Library(folder / "library")
    for job in library.catalog.jobs():
        library.catalog.forget_job(job.path)
    for report in library.list():
        library.catalog.add_report(replace(report, sample=True))
    settings = {"WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off"}
    with pages.run_dashboard(settings) as address:
        yield address


def open_library(page: Page, address: str) -> None:
    page.set_viewport_size({"width": WINDOW["width"], "height": WINDOW["height"]})
    page.goto(address)
    wait_at_rest(page, '[data-testid="stDataFrame"] canvas')


def select_first(page: Page) -> None:
    house.click_table(page.get_by_test_id("stDataFrame").first, 18, 51)
    expect(page.get_by_role("button", name="Rename")).to_be_visible()


def test_a_newcomer_sees_the_reports_first(page: Page, newcomer: str) -> None:
    open_library(page, newcomer)
    expect(page.get_by_text("Importer running")).to_be_visible()
    wait_at_rest(page, '[data-testid="stDataFrame"] canvas')
    top = page.get_by_test_id("stDataFrame").first.bounding_box()
    assert top is not None
    assert top["y"] < LOWEST_TABLE_PX, page.get_by_test_id("stMain").inner_text()[:1000]
    words: list[str] = page.evaluate(WORDS)
    assert {"Library", "Summary", "Search", "Why"} <= set(words), "it counts what it says"
    assert len(words) <= MOST_WORDS, " ".join(words)
    questions = page.locator(".st-key-library-cards").get_by_test_id("stMarkdown")
    expect(questions).to_have_count(3)


def test_a_card_leads_to_its_answer(page: Page, newcomer: str) -> None:
    open_library(page, newcomer)
    page.get_by_role("link", name="Find the cause").click()
    expect(page).to_have_url(re.compile("/idle"))
    expect(page.get_by_role("heading", name="Idle")).to_be_visible()


@pytest.mark.slow("renames a report and waits for its new name")
def test_a_report_is_renamed_and_found_by_its_new_name(page: Page, address: str, library: Library) -> None:
    hostile = "<b>Baseline</b> **batch 64** $x$"
    open_library(page, f"{address}/?q={house.STEPS}")
    select_first(page)
    page.get_by_role("button", name="Rename").click()
    field = page.get_by_role("dialog").get_by_label("Name")
    expect(field).to_have_value(house.STEPS)
    field.fill(hostile)
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    report = next(one for one in library.list() if one.name == house.STEPS)
    assert report.title == hostile
    page.goto(f"{address}/summary?report={report.id}")
    wait_at_rest(page, house.HEADING)
    expect(page.get_by_role("combobox", name="Report", exact=False).first).to_have_value(re.compile(re.escape(hostile)))
    assert hostile in page.title()
    library.catalog.rename(report.id, "")


@pytest.mark.slow("a walk through four pages")
def test_keys_alone_lead_to_a_page_a_report_a_kernel_and_a_range(page: Page, address: str, library: Library) -> None:
    report = library.find(house.TRAINING)
    page.goto(f"{address}/summary?report={report.id}")

    def search(words: str, found: str) -> None:
        wait_at_rest(page, house.HEADING)
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Search", exact=True)
        expect(field).to_be_focused()
        field.fill(words)
        expect(page.get_by_role("option", name=re.compile(re.escape(found))).first).to_be_visible()
        page.keyboard.press("Enter")

    search("phases", "Phases")
    expect(page).to_have_url(re.compile(f"/phases.*report={report.id}"))
    search("masked_fill", "masked_fill")
    expect(page).to_have_url(re.compile(r"/kernel\?.*kernel=\d+"))
    search("step_2", "step_2")
    expect(page).to_have_url(re.compile("range=step_2"))
    search(house.STARVED, house.STARVED)
    expect(page).to_have_url(re.compile(f"report={library.find(house.STARVED).id}"))


@pytest.mark.slow("a document whose script waits")
def test_a_shortcut_pressed_while_the_page_loads_opens_the_search(page: Page, address: str) -> None:
    page.goto(f"{address}/summary?report={house.TRAINING}", wait_until="commit")
    page.wait_for_function("() => window.warpdeckEarlySearch")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    wait_at_rest(page, house.HEADING)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_copy_link_copies_and_compare_takes_what_one_types(page: Page, address: str, library: Library) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    path = f"/kernels?report={library.find(house.TRAINING).id}&range=step_2"
    page.goto(address + path)
    wait_at_rest(page, house.HEADING)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied. It opens on this machine only.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address + path
    page.get_by_role("button", name="Compare with").click()
    expect(page.get_by_role("combobox", name="Compare this report with")).to_be_focused()


def test_header_and_selection_leave_room_for_the_page(page: Page, address: str, library: Library) -> None:
    page.set_viewport_size({"width": WINDOW["width"], "height": WINDOW["height"]})
    page.goto(f"{address}/kernels?report={library.find(house.TRAINING).id}")
    wait_at_rest(page, house.HEADING)
    first, last = (page.locator(part).bounding_box() for part in (".st-key-top-bar", ".st-key-selection-bar"))
    assert first is not None
    assert last is not None
    assert last["y"] + last["height"] - first["y"] <= 96


def test_the_folded_menu_shows_its_names(page: Page, address: str) -> None:
    """At 800 px it is a rail of icons, and a drawer with text under the pointer and the focus."""
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(address)
    wait_at_rest(page, house.HEADING)
    sidebar = page.get_by_test_id("stSidebar")
    width = "element => element.getBoundingClientRect().width"
    assert sidebar.evaluate(width) < 60
    page.get_by_role("link", name="Summary", exact=True).focus()
    expect(sidebar).to_have_css("width", re.compile(r"2\d\dpx|2\d\d\.\d+px"))
    expect(sidebar.get_by_text("Summary", exact=True)).to_be_in_viewport()
