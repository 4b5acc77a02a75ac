"""A stranger's first minutes, in a real browser against a running dashboard with its own worker."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from app.views.library.table import ROW_PX
from bench.pages import run_dashboard
from profiledb.library.library import Library
from profiledb.library.worker_lock import is_library_locked
from profiledb.query import analysis
from tests.conftest import SAMPLES, wait_until
from tests.e2e import house

pytestmark = pytest.mark.browser
NAME, DROPPED = "transformer_inference.nsys-rep", "dataloader_starved.sqlite"


def cell(page: Page, text: str) -> Locator:
    """A cell of a table: it is drawn on a canvas, and stands in it as text for readers of the screen."""
    return page.locator('[role="gridcell"]', has_text=text).first


def click_first_row(page: Page) -> None:
    """Click into the second column of the first row of the first table, where a person would."""
    house.click_table(page.get_by_test_id("stDataFrame").first, 150, 50)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A dashboard that looks after an inbox: its address, and its data folder, in which there is nothing yet."""
    folder = tmp_path_factory.mktemp("dropped")
    with run_dashboard({"WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off"}) as address:
        yield address, folder


@pytest.mark.slow("starts a server and a worker of its own")
def test_a_report_dropped_into_the_inbox_shows_its_kernels(page: Page, own: tuple[str, Path]) -> None:
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))
    address, folder = own
    page.goto(address)
    expect(page.get_by_text("No reports yet").first).to_be_visible()
    shutil.copy(SAMPLES / "transformer_inference.sqlite", folder / "inbox")
    shutil.copy(SAMPLES / NAME, folder / "inbox")
    expect(cell(page, NAME)).to_be_attached()
    library = Library(folder / "library")
    report = library.find(NAME)
    house.show(page, address, f"/kernels?report={report.id}")
    top = analysis.run(library, report.id, "cuda_gpu_kern_sum", {"by": "short"})
    expect(cell(page, str(top["Name"][0]))).to_be_attached()
    click_first_row(page)
    expect(page).to_have_url(re.compile(r"/kernel\?"))
    expect(page.get_by_role("heading", name="Distribution")).to_be_visible()
    page.goto(f"{address}/summary?report={NAME}")
    expect(page.get_by_role("heading", name="Summary")).to_be_visible()
    expect(page.get_by_text("Top kernels").first).to_be_visible()
    assert not [url for url in asked if not url.startswith((address, "data:", "blob:"))], "nothing comes from elsewhere"


def test_a_report_is_dropped_labeled_and_deleted_in_five_clicks(page: Page, own: tuple[str, Path]) -> None:
    address, folder = own
    page.goto(address)
    page.locator('input[type="file"]').set_input_files(SAMPLES / DROPPED)  # 1: dropped
    expect(cell(page, DROPPED)).to_be_attached()
    row = [report.name for report in Library(folder / "library").list()].index(DROPPED)
    house.click_table(page.get_by_test_id("stDataFrame").first, 18, (row + 1.5) * ROW_PX)  # 2: selected
    page.get_by_role("button", name="Labels").click()  # 3: labeled, by typing
    page.get_by_role("combobox", name="Labels").fill("slow")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(cell(page, "slow")).to_be_attached()
    page.get_by_role("button", name="Delete").click()  # 4
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()  # 5
    expect(cell(page, DROPPED)).not_to_be_attached()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator('input[type="file"]').set_input_files(
        {"name": "broken.nsys-rep", "mimeType": "application/octet-stream", "buffer": b"NVIDIA Tegra Profiler Report x"}
    )
    expect(page.get_by_text("is incomplete").first).to_be_visible()


@pytest.mark.slow("starts a server of its own")
def test_files_are_read_before_anybody_opens_a_page(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    shutil.copy(SAMPLES / "transformer_inference.sqlite", tmp_path / "inbox")
    with run_dashboard({"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off"}):
        library = Library(tmp_path / "library")
        wait_until(lambda: bool(library.list()))
    wait_until(lambda: not is_library_locked(library.folder))


@pytest.mark.slow("takes all samples in")
def test_the_samples_are_there_after_the_first_start_without_any_tool(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    for path in (path for part in (SAMPLES, SAMPLES / "ddp", SAMPLES / "torch") for path in part.iterdir()):
        if path.is_file():
            target = folder / path.relative_to(SAMPLES)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    settings = {
        "WARPDECK_DATA": str(tmp_path / "data"),
        "WARPDECK_SAMPLES": str(folder),
        "WARPDECK_NSYS": "off",
        "WARPDECK_NCU": "off",
    }
    with run_dashboard(settings) as address:
        page.goto(address)
        found = (*folder.glob("*-rep"), *folder.glob("*/*.sqlite"), *folder.glob("*/*.trace.json.gz"))
        samples = {path.name for path in found}
        expect(page.get_by_text(f"{len(samples)} reports")).to_be_visible(timeout=200_000)
        expect(page.get_by_text("failed to import")).not_to_be_attached()
        assert {report.name for report in Library(tmp_path / "data" / "library").list()} == samples
        page.get_by_role("button", name="More questions").click()
        page.get_by_role("link", name="Compare both").first.click()
        expect(page.get_by_role("heading", name="Compare")).to_be_visible()
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
