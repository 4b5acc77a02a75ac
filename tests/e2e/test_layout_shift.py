"""Nothing jumps when a link opens a page: the layout shift that browsers measure (CLS) stays below 0.1."""

import pytest
from playwright.sync_api import Browser

from app.ui.charts import Theme
from bench.pages import wait_at_rest
from profiledb.library.library import Library
from tests.e2e import house
from tests.e2e.test_pages import EVERY, path_of

pytestmark = pytest.mark.browser
MOST = 0.1
"""Above it, a page needs improvement by the rules of Web Vitals; 0.25 is poor."""
WATCH = """() => {
  window.shifts = [];
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
  }).observe({type: 'layout-shift', buffered: true});
}"""
MAIN = ("", "summary", "kernels")
LOOKS: tuple[tuple[int, Theme], ...] = ((1440, "light"), (800, "dark"))
"""Width of the window and theme; a theme has its own colors and the same layout."""

SLOW = pytest.mark.slow("a document for each page")
CASES = [
    pytest.param(
        width, theme, url, marks=() if url in MAIN and width == 1440 else SLOW, id=f"{url or 'library'}-{width}-{theme}"
    )
    for width, theme in LOOKS
    for url in EVERY
]
"""Every page in both looks; all but the main pages on a desk are slow."""


@pytest.mark.alone
@pytest.mark.parametrize(("width", "theme", "url"), CASES)
def test_a_page_stays_where_it_is_drawn(
    browser: Browser, address: str, library: Library, width: int, theme: Theme, url: str
) -> None:
    path = address + path_of(library, url)
    tries = [measure_shifts(browser, path, width, theme)]
    if sum(tries[0]) >= MOST:  # a machine that stalls shows placeholders side by side that nobody else sees
        tries.append(measure_shifts(browser, path, width, theme))
    assert min(map(sum, tries)) < MOST, tries


def measure_shifts(browser: Browser, address: str, width: int, theme: Theme) -> list[float]:
    """Load a page in a window of its own; return its layout shifts, the largest first."""
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme) as context:
        page = context.new_page()
        page.add_init_script(f"({WATCH})()")
        page.goto(address)
        wait_at_rest(page, house.HEADING)
        shifts: list[float] = page.evaluate("window.shifts")
    return sorted(shifts, reverse=True)
