"""The content security policy blocks forbidden actions of pages, and downloads run nothing."""

import csv
import io

import pytest
from playwright.sync_api import Page, expect

from bench.pages import wait_at_rest
from tests.e2e import house
from tests.e2e.test_pages import COUNT

pytestmark = pytest.mark.browser


def test_the_policy_stops_what_a_page_must_not_do(page: Page, address: str) -> None:
    page.add_init_script(f"({COUNT})()")
    page.goto(address)
    wait_at_rest(page, house.HEADING)
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


def test_a_download_holds_no_formula(page: Page, address: str) -> None:
    page.goto(f"{address}/kernels?report={house.NAMED}")
    table = page.get_by_test_id("stDataFrame").first
    expect(page.locator('[role="gridcell"]', has_text="=HYPERLINK").first).to_be_attached()
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").first.click()
    content = started.value.path().read_bytes()
    assert b"\"'=HYPERLINK(" in content
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    row = next(row for row in rows if any(cell.startswith(f"'{house.FORMULA}") for cell in row))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "\t"))]
    numbers = {name: value for name, value in zip(rows[0], row, strict=True) if name.endswith("_ns")}
    assert all(float(value) >= 0 for value in numbers.values())
    table.hover()
    expect(page.get_by_role("button", name="Search").first).to_be_visible()
    expect(page.locator('[aria-label="Download as CSV"]').first).to_be_attached()
    for button in page.locator('[aria-label="Download as CSV"]').all():
        expect(button).not_to_be_visible()
