"""A newcomer does ten tasks with a report, from the Library on; the tests count clicks and keys.

Other modules have the rest: a broken file and one's own report (``test_drop``), a new name (``test_library``), the
limit of a kernel and the cause of slow attention (``test_tasks``).
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app.views.library.table import ROW_PX
from bench import pages
from bench.pages import wait_at_rest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.trends import summary_refresh
from tests.conftest import SAMPLES, Once, copy_data, ingest_files, put_together
from tests.e2e import house

pytestmark = [pytest.mark.browser, pytest.mark.slow("summarizes a pair, a run of four ranks and a trace")]
SLOW, FIXED = "idle_host_bound.nsys-rep", "idle_fixed.nsys-rep"
RANK, TRACE = "ddp_overlap_4_rank0.sqlite", "torch_training.pt.trace.json.gz"
SYSTEMS = (house.TRAINING, house.STARVED, SLOW, FIXED)
WINDOW = {"width": 1440, "height": 900}
MOST_CLICKS, MOST_PRESSES = 2, 15


class Visitor:
    """A person at the browser, whose clicks and presses are counted."""

    def __init__(self, page: Page, address: str, library: Library) -> None:
        self.page, self.address, self.library = page, address, library
        self.clicks = self.presses = 0

    def choose(self, name: str) -> str:
        """Open a report from the Library and return its id. Later clicks count."""
        self.go(f"/?q={name}")
        house.click_table(self.page.get_by_test_id("stDataFrame").first, 60, 1.5 * ROW_PX)
        report = self.library.find(name).id
        expect(self.page).to_have_url(re.compile(rf"\?report={report}$"))
        self.rest()
        self.clicks = 0
        return report

    def go(self, path: str) -> None:
        house.show(self.page, self.address, path)

    def click(self, where: Locator) -> None:
        self.clicks += 1
        where.click()

    def menu(self, title: str) -> None:
        named = self.page.get_by_text(title, exact=True)
        self.click(self.page.locator(".st-key-menu").get_by_role("link").filter(has=named))  # not one that lacks data
        expect(self.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        self.rest()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.presses += 1
            self.page.keyboard.press(key)

    def search(self, words: str, found: str) -> None:
        """Find something by Ctrl+K, letter by letter."""
        self.press("Control+k")
        expect(self.page.get_by_role("combobox", name="Search", exact=True)).to_be_focused()
        self.press(*words)
        first = self.page.get_by_role("option", selected=True)
        expect(first).to_contain_text(found)
        self.press("Enter")

    def rest(self) -> None:
        wait_at_rest(self.page, house.HEADING)

    def sees(self, text: str | re.Pattern[str]) -> None:
        """Without scrolling."""
        expect(self.page.get_by_test_id("stMain").get_by_text(text).first).to_be_in_viewport()


def cell(page: Page, text: str | re.Pattern[str]) -> Locator:
    """A cell of a table, by its text."""
    return page.locator('[data-testid^="glide-cell-"]').filter(has_text=text).first


@pytest.fixture(scope="module")
def data(once: Once, with_sidecars: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair before and after a change, a run of four ranks and a trace, all summarized as the worker does."""

    def fill(folder: Path) -> None:
        (parallel := folder / "parallel").mkdir()
        ingest_files(parallel, [*SAMPLES.glob("ddp/ddp_overlap_4_*"), SAMPLES / "torch" / TRACE])
        put_together(folder, [with_sidecars.folder.parent], names=SYSTEMS)
        put_together(folder, [parallel])
        summary_refresh.refresh(Library(folder / "library"))

    folder = tmp_path_factory.mktemp("tasks") / "data"
    copy_data(once("tasks", fill), folder)
    return folder


@pytest.fixture(scope="module")
def task_address(data: Path) -> Iterator[str]:
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with pages.run_dashboard(settings) as running:
        yield running


@pytest.fixture(scope="module")
def window(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    page.set_viewport_size({"width": WINDOW["width"], "height": WINDOW["height"]})
    page.set_default_timeout(60_000)
    yield page
    page.close()


@pytest.fixture(name="someone")
def make_someone(window: Page, task_address: str, data: Path) -> Iterator[Visitor]:
    visitor = Visitor(window, task_address, Library(data / "library"))
    yield visitor
    assert visitor.clicks <= MOST_CLICKS
    assert visitor.presses <= MOST_PRESSES


def test_why_the_gpu_waits_stands_on_the_summary(someone: Visitor) -> None:
    """Task a: no click."""
    someone.choose(house.STARVED)
    someone.sees("Do first:")
    someone.sees(re.compile("load"))


def test_keys_alone_tell_why_the_gpu_waits(someone: Visitor) -> None:
    """Task a, from the Library on, without the mouse."""
    someone.go("/")
    someone.search("starved", house.STARVED)
    someone.page.wait_for_url(re.compile("/summary"))
    someone.rest()
    someone.sees("Do first:")
    someone.sees(re.compile("load"))


def test_before_and_after_a_change(someone: Visitor) -> None:
    """Task c: one click, and typing."""
    someone.choose(SLOW)
    someone.click(someone.page.get_by_role("button", name="Compare with"))
    expect(someone.page.get_by_role("combobox", name="Compare this report with")).to_be_focused()
    someone.page.keyboard.type("idle_fixed")
    expect(someone.page.get_by_role("option", name=re.compile("idle_fixed"))).to_be_visible()
    someone.page.keyboard.press("Enter")
    expect(someone.page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    someone.rest()
    someone.sees(re.compile(r"B is faster \(1\.4\d×\)"))


def test_forward_and_backward(someone: Visitor) -> None:
    """Task d."""
    someone.choose(house.TRAINING)
    someone.menu("Phases")
    for phase in ("Forward", "Backward"):
        someone.sees(phase)


def test_whether_a_rank_holds_up_the_others(someone: Visitor) -> None:
    """Task e: the first sentence of Run answers it; in this run, all CPUs work while the GPUs wait."""
    someone.choose(RANK)
    someone.menu("Run")
    someone.sees(re.compile("No rank holds the others up"))


def test_keys_alone_select_the_largest_gap(someone: Visitor) -> None:
    """Task f: search opens the timeline, G goes to the longest gap, and U uses its time on all pages."""
    report = someone.choose(house.STARVED)
    gap = analysis.run(someone.library, report, "idle_gaps", {"limit": 1}).iloc[0]
    someone.search("timel", "Timeline")
    someone.page.wait_for_url(re.compile("/timeline"))
    someone.page.wait_for_function("() => window.__warpdeck_timeline?.state().settled")
    someone.press("g")
    expect(someone.page.get_by_role("button", name="Select this time")).to_be_visible()
    someone.press("u")
    someone.page.wait_for_url(re.compile(r"[?&]from=[\d.]+&to=[\d.]+"))
    times = dict(part.split("=") for part in someone.page.url.partition("?")[2].split("&"))
    start, end = (float(times[name]) * 1e6 for name in ("from", "to"))
    assert (start, end - start) == pytest.approx((gap["start_ns"], gap["duration_ns"]), abs=1_000)


def test_the_lines_that_launch_the_costliest_kernel(someone: Visitor) -> None:
    """Task g: the Summary names the kernel, and the kernel's page the lines."""
    someone.choose(TRACE)
    someone.click(someone.page.get_by_text("Dominant kernel"))
    expect(someone.page.get_by_role("heading", name="Kernel", exact=True)).to_be_visible()
    someone.rest()
    expect(cell(someone.page, re.compile(r"^workloads/language_model\.py\(\d+\): "))).to_be_attached()


def test_a_question_about_all_reports(someone: Visitor) -> None:
    """Task i: the first example about all reports runs at once; it is saved, found by its address, and downloaded."""
    report = someone.choose(house.TRAINING)
    page = someone.page
    someone.menu("SQL")
    someone.click(
        page.get_by_role("radio", name="All reports").or_(page.get_by_role("button", name="All reports")).first
    )
    expect(page.get_by_text("library_summary").first).to_be_visible()
    names = {one.name for one in someone.library.list()}
    for name in (house.TRAINING, house.STARVED):
        assert name in names
        expect(cell(page, name)).to_be_attached()
    clicks = someone.clicks
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("textbox", name="Name", exact=True).fill("all of them")
    page.get_by_role("button", name="Save question").click()
    page.wait_for_url(re.compile("question="))
    someone.rest()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    assert house.TRAINING in Path(download.value.path()).read_text()
    page.goto(page.url)
    someone.rest()
    expect(cell(page, house.STARVED)).to_be_attached()
    assert report in page.url
    someone.clicks = clicks


def test_a_link_to_what_one_sees(someone: Visitor) -> None:
    """Task j: one click."""
    someone.choose(house.TRAINING)
    page = someone.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=someone.address)
    someone.click(page.get_by_role("button", name="Copy link"))
    expect(page.get_by_text("Link copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_a_report_is_found_and_pinned(someone: Visitor) -> None:
    """Task l: typing, a click on the row, and a click on the action."""
    someone.go("/")
    page = someone.page
    page.get_by_role("textbox", name="Search").fill("idle_fixed")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"1 of {len(someone.library.list())} reports")).to_be_visible()
    someone.rest()
    someone.clicks += 1
    house.click_table(page.get_by_test_id("stDataFrame").first, 18, 1.5 * ROW_PX)
    someone.click(page.get_by_role("button", name="Pin", exact=True))
    expect(page.get_by_role("button", name="Unpin", exact=True)).to_be_visible()
    assert someone.library.catalog.labels()[someone.library.find(FIXED).id] == ["pinned"]
