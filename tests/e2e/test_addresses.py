"""Which report a page shows: the one that was opened, linked to or chosen, however slow the machine is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from app.pages import VIEWS
from bench.pages import dashboard
from profiledb.report.catalog import TIMELINE, Manifest
from profiledb.report.library import Library
from tests.conftest import SAMPLES, ingest_files
from tests.e2e.test_drop import cell
from tests.support import sweep

pytestmark = pytest.mark.browser
PATIENCE_MS = 150_000
NAMES = ("transformer_inference.sqlite", "transformer_training.sqlite", "tasks.sqlite", "kernels.ncu-rep")
ROW_PX = 34
OPEN_PX = 70


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of several reports, which tests leave as it is."""
    return taken_in(tmp_path_factory.mktemp("addresses"))


def taken_in(folder: Path) -> Library:
    ingest_files(folder, [SAMPLES / name for name in NAMES])
    return Library(folder / "library")


@pytest.fixture(scope="module")
def served(reports: Library) -> Iterator[str]:
    """The dashboard on these reports."""
    with dashboard(settings(reports)) as address:
        yield address


def settings(library: Library) -> dict[str, str]:
    return {"WARPDECK_DATA": str(library.folder.parent), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}


@pytest.fixture
def address(page: Page, served: str) -> str:
    """Where it is, for tests with patience."""
    expect.set_options(timeout=PATIENCE_MS)  # the page's fixture sets it back for each test
    return served


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[str, Library]]:
    """A dashboard on a library that the test may change."""
    library = taken_in(tmp_path)
    with dashboard(settings(library)) as address:
        yield address, library


def oldest(library: Library) -> Manifest:
    return [report for report in library.list() if report.kind == "nsys"][-1]


def picker(page: Page) -> Locator:
    return page.locator(".st-key-top-bar").get_by_role("combobox").first


def open_row(page: Page, row: int) -> None:
    """Clicks Open in a row of the Library."""
    table = page.get_by_test_id("stDataFrame").first
    table.click(position={"x": OPEN_PX, "y": ROW_PX * (row + 1) + ROW_PX // 2})


def expect_overview(page: Page, report: Manifest) -> None:
    """The whole Summary of a report is there, and stays there."""
    here = re.compile(rf"/overview\?report={report.id}$")
    expect(page.get_by_text("Top kernels").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(2500)  # longer than the Library's timer: what it still asked for has been answered
    expect(page).to_have_url(here)
    expect(page.get_by_role("heading", name="Summary")).to_be_visible()
    expect(page.get_by_test_id("stMain")).to_contain_text(report.name)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_open_shows_the_report_of_its_row_on_a_busy_machine(
    page: Page, address: str, reports: Library, busy_machine: None
) -> None:
    listed = [report.id for report in reports.list()]
    wanted = oldest(reports)
    assert wanted.id != listed[0]
    for _ in range(3 if sweep.whole() else 1):
        page.goto("about:blank")
        page.goto(address)
        expect(cell(page, wanted.name)).to_be_attached()
        open_row(page, listed.index(wanted.id))
        expect_overview(page, wanted)


@pytest.mark.timeout(900)
def test_a_link_shows_the_report_that_it_names_on_every_page(page: Page, address: str, reports: Library) -> None:
    """A sweep over the pages: that each opens by a link is seen in test_policy, too."""
    for view in sweep.part(VIEWS, 5, parts=4):
        wanted = oldest(reports) if view.subject == TIMELINE else next(r for r in reports.list() if view.fits(r))
        page.goto(f"{address}/{view.url}?report={wanted.id}")
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible()
        expect(page.get_by_test_id("stMain")).to_contain_text(wanted.name)
        expect(page).to_have_url(re.compile(rf"/{view.url}\?report={wanted.id}(&|$)"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_library_goes_on_where_the_report_of_the_picker_is_deleted(
    page: Page, own: tuple[str, Library], busy_machine: None
) -> None:
    expect.set_options(timeout=PATIENCE_MS)
    address, library = own
    gone, left = library.list()[0], library.list()[1:]
    page.goto(address)
    expect(picker(page)).to_have_value(re.compile(re.escape(gone.name)))
    page.get_by_test_id("stDataFrame").first.click(position={"x": 18, "y": ROW_PX + ROW_PX // 2})
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(picker(page)).to_have_value(re.compile(re.escape(left[0].name)))
    expect(page.get_by_text(f"{len(left)} reports", exact=True)).to_be_visible()
    page.wait_for_timeout(2500)  # the Library's timer has asked again
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    open_row(page, len(left) - 1)
    expect_overview(page, left[-1])


@pytest.mark.parametrize("url", ["overview", "roofline", ""])
def test_a_link_to_no_report_says_so_and_leaves_the_menu(page: Page, address: str, reports: Library, url: str) -> None:
    page.goto(f"{address}/{url}?report=nonsense")
    menu = page.locator(".st-key-menu")
    expect(menu.get_by_role("link", name="Library")).to_be_visible()
    if url:
        expect(page.get_by_text("No report is called 'nonsense'.")).to_be_visible()
    picker(page).click()
    page.get_by_role("option", name=re.compile(re.escape(oldest(reports).name))).click()
    expect_overview(page, oldest(reports))
    expect(menu.get_by_role("link", name="Kernels", exact=True)).to_be_visible()


def test_back_and_forward_show_what_was_there(page: Page, address: str, reports: Library) -> None:
    first, second = [report for report in reports.list() if report.kind == "nsys"][:2]
    page.goto(f"{address}/overview?report={first.id}")
    expect_overview(page, first)
    picker(page).click()
    page.get_by_role("option", name=re.compile(re.escape(second.name))).click()
    expect_overview(page, second)
    page.go_back()
    expect_overview(page, first)
    expect(picker(page)).to_have_value(re.compile(re.escape(first.name)))
    page.go_forward()
    expect_overview(page, second)
    expect(picker(page)).to_have_value(re.compile(re.escape(second.name)))
