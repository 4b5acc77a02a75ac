"""A page shows the report that was opened, linked to or chosen, however slow the machine is."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app.page_list import get_view
from bench.pages import go_to, run_dashboard
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from tests.conftest import put_together
from tests.e2e import house
from tests.e2e.test_drop import cell

pytestmark = pytest.mark.browser
PATIENCE_MS = 150_000
NAMES = (house.INFERENCE, house.TRAINING, house.TASKS, house.STARVED)
ROW_PX = 34
OPEN_PX = 70


@pytest.fixture(scope="module")
def own(
    context: BrowserContext, nsys_samples: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Library]]:
    """A dashboard on a library that tests may change, whose pages somebody has looked at: that costs more than time."""
    folder = tmp_path_factory.mktemp("own")
    put_together(folder, [nsys_samples.folder.parent], names=NAMES)
    library = Library(folder / "library")
    settings = {"WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with run_dashboard(settings) as address:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        for path in ("/", *(f"/summary?report={report.id}" for report in library.list())):
            house.show(page, address, path)
        page.close()
        yield address, library


@pytest.fixture
def patience() -> None:
    """More than others need, in place of theirs."""
    expect.set_options(timeout=PATIENCE_MS)


def oldest(library: Library) -> Manifest:
    return [report for report in library.list() if report.kind == "nsys"][-1]


def picker(page: Page) -> Locator:
    return page.locator(".st-key-top-bar").get_by_role("combobox").first


def choose(page: Page, report: Manifest) -> None:
    """Chooses a report in the picker."""
    picker(page).click()
    page.get_by_role("option", name=re.compile(re.escape(report.name))).click()


def open_row(page: Page, row: int) -> None:
    """Clicks Open in a row of the Library."""
    table = page.get_by_test_id("stDataFrame").first
    house.click_table(table, OPEN_PX, (row + 1.5) * ROW_PX)


def expect_overview(page: Page, report: Manifest, after_library: bool = False) -> None:
    """The whole Summary of a report is there; after the Library, it stays there."""
    here = re.compile(rf"/summary\?report={report.id}$")
    expect(page.get_by_text("Top kernels").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    if after_library:
        page.wait_for_timeout(2500)  # longer than the Library's timer: what it still asked for has been answered
    expect(page).to_have_url(here)
    expect(page.get_by_role("heading", name="Summary")).to_be_visible()
    expect(picker(page)).to_have_value(re.compile(re.escape(report.name)))


@pytest.mark.slow("loads the whole machine for a minute")
@pytest.mark.timeout(900)
def test_open_shows_the_report_of_its_row_on_a_busy_machine(
    page: Page, own: tuple[str, Library], busy_machine: None
) -> None:
    address, library = own
    listed = [report.id for report in library.list()]
    wanted = oldest(library)
    assert wanted.id != listed[0]
    page.goto("about:blank")
    page.goto(address)
    expect(cell(page, wanted.name)).to_be_attached()
    open_row(page, listed.index(wanted.id))
    expect_overview(page, wanted, after_library=True)


@pytest.mark.slow("loads the whole machine for a minute")
@pytest.mark.timeout(900)
def test_the_library_goes_on_where_the_report_at_hand_is_deleted(
    page: Page, own: tuple[str, Library], busy_machine: None
) -> None:
    address, library = own
    gone, left = library.list()[0], library.list()[1:]
    page.goto(address)
    summary = page.locator(".st-key-menu a", has_text="Summary")
    expect(summary).to_have_attribute("href", re.compile(gone.id))
    house.click_table(page.get_by_test_id("stDataFrame").first, 18, 1.5 * ROW_PX)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(summary).to_have_attribute("href", re.compile(left[0].id))
    expect(page.get_by_text(f"{len(left)} reports", exact=True)).to_be_visible()
    page.wait_for_timeout(2500)  # the Library's timer has asked again
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    open_row(page, len(left) - 1)
    expect_overview(page, left[-1], after_library=True)


@pytest.mark.parametrize(
    ("url", "name"),
    [("summary", house.STEPS), pytest.param("roofline", house.INFERENCE, marks=pytest.mark.slow("another page"))],
)
def test_a_link_to_no_report_says_so_and_leaves_the_menu(
    visitor: Page, address: str, library: Library, url: str, name: str
) -> None:
    page, wanted = visitor, library.find(name)
    menu = page.locator(".st-key-menu")
    if page.url.startswith(address):
        go_to(page, f"/{url}?report=nonsense")
    else:
        page.goto(f"{address}/{url}?report=nonsense")
    expect(page.get_by_role("heading", name=get_view(url).title, exact=True)).to_be_visible()
    expect(menu.get_by_role("link", name="Library")).to_be_visible()
    expect(page.get_by_text("No report is called 'nonsense'.")).to_be_visible()
    choose(page, wanted)
    expect_overview(page, wanted)
    expect(menu.get_by_role("link", name="Kernels", exact=True)).to_be_visible()


@pytest.mark.slow("a document of its own, and four pages")
def test_back_and_forward_show_what_was_there(page: Page, address: str, library: Library) -> None:
    """In a new document: one that others had open has their history, too."""
    first, second = library.find(house.TRAINING), library.find(house.STARVED)
    page.goto(f"{address}/summary?report={first.id}")
    expect_overview(page, first)
    choose(page, second)
    expect_overview(page, second)
    # As long as somebody may type in it, Streamlit's box can keep its text, and it may take the focus again.
    page.evaluate("""() => {
        const leave = () => document.activeElement?.blur();
        leave();
        document.addEventListener("focusin", leave);
    }""")
    page.go_back()
    expect_overview(page, first)
    expect(picker(page)).to_have_value(re.compile(re.escape(first.name)))
    page.go_forward()
    expect_overview(page, second)
    expect(picker(page)).to_have_value(re.compile(re.escape(second.name)))
