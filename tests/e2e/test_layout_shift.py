"""Nothing jumps when a page is opened by a link: the layout shift that browsers measure (CLS) stays below 0.1."""

import pytest
from playwright.sync_api import Browser

from app.page_list import VIEWS
from app.ui.charts import Theme
from bench.pages import wait_at_rest
from profiledb.library.library import Library
from tests.e2e import house
from tests.e2e.test_pages import shown

pytestmark = pytest.mark.browser
MOST = 0.1
"""Above it, a page needs improvement by the rules of Web Vitals; 0.25 is poor."""
WATCH = """() => {
  window.shifts = [];
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
  }).observe({type: 'layout-shift', buffered: true});
}"""
MAIN = ("", "summary", "timeline", "findings", "kernels", "idle")
WRAPPING = {"roofline_by_time", "scaling", "attention", "kernel", "roofline"}
"""Pages on which figures wrap at 800 pixels: Streamlit's placeholders are narrower, so more of them fit in a line."""
EVERY = [("light", width, url) for width in (1440, 800) for url in ("", *(v.url for v in VIEWS))]
CASES = [
    *(case for case in EVERY if case[1] > 800 or case[2] not in WRAPPING),
    *(("dark", 1440, url) for url in MAIN),  # a theme changes no size
]
OTHERS = [
    pytest.param(*case, marks=pytest.mark.slow("50 documents"))
    for case in CASES
    if not (case[:2] == ("light", 1440) and case[2] in MAIN)
]


@pytest.mark.alone
@pytest.mark.parametrize(("theme", "width", "url"), [*(("light", 1440, url) for url in MAIN), *OTHERS])
def test_a_page_stays_where_it_is_drawn(
    browser: Browser, address: str, library: Library, theme: Theme, width: int, url: str
) -> None:
    query = f"?report={library.find(shown(url)).id}" if url else ""
    tries = [measure_shifts(browser, f"{address}/{url}{query}", theme, width)]
    if sum(tries[0]) >= MOST:  # a machine that stalls shows placeholders side by side that nobody else sees
        tries.append(measure_shifts(browser, f"{address}/{url}{query}", theme, width))
    assert min(map(sum, tries)) < MOST, tries


def measure_shifts(browser: Browser, address: str, theme: Theme, width: int) -> list[float]:
    """Load a page in a window of its own; return its layout shifts, the largest first."""
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme) as context:
        page = context.new_page()
        page.add_init_script(f"({WATCH})()")
        page.goto(address)
        wait_at_rest(page, house.HEADING)
        shifts: list[float] = page.evaluate("window.shifts")
    return sorted(shifts, reverse=True)
