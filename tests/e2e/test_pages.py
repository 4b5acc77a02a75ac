"""Every page opens by its address, works under the content security policy, and breaks no rule of axe-core."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Response, expect

from app.page_list import VIEWS, get_view
from app.ui.charts import Theme
from bench.pages import turn_to, wait_at_rest
from profiledb.library.catalog import LAUNCHES
from profiledb.library.library import Library
from tests.e2e import house
from tests.e2e.test_accessibility import broken

pytestmark = pytest.mark.browser
SHOWS = {
    "attention": house.ATTENTION, "timer_check": house.ENERGY, "energy": house.ENERGY, "cpu_vs_gpu": house.TASKS,
    "scaling": house.PARALLEL, "kernel_profiles": house.LAUNCHES, "call_paths": house.PROTON,
}  # fmt: skip
"""The report on which a page has most to show; the others show the training, or what was measured of it."""
WITHOUT = {"operators": "No operators in this report.", "run": "This report is not of a run on several GPUs."}
"""What a page says of a report that lacks what it shows: no report here is a trace of PyTorch, or of a rank."""
EVERY = ["", *(view.url for view in VIEWS)]
DRAWN = '[data-testid="stDataFrame"] canvas, .js-plotly-plot .main-svg, [data-testid="stTable"], canvas.plot'
COUNT = """() => {
  window.violations = [];
  document.addEventListener('securitypolicyviolation', e => {
    window.violations.push(e.violatedDirective + ' ' + e.blockedURI);
  });
}"""
EMPTY = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
FONTS = "document.fonts.ready.then(() => [...document.fonts].map(font => font.status))"


class Walk:
    """A browser's page that goes from page to page of the dashboard, within one document where it can."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.theme: Theme | None = None
        self.said: list[str] = []
        page.on("console", self._note)
        page.on("response", self._look)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.add_init_script(f"({COUNT})()")

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text.replace("-", " "):
            self.said.append(message.text)

    def _look(self, answer: Response) -> None:
        if answer.status >= 400:
            self.said.append(f"{answer.status} {answer.url}")

    def open(self, path: str, theme: Theme, by_link: bool) -> None:
        """Shows a page: in a document of its own where it is opened by a link, or the theme is another one."""
        if by_link or theme != self.theme:
            self.theme = theme
            self.page.emulate_media(color_scheme=theme)
            self.page.goto(self.address + path)
            wait_at_rest(self.page, house.HEADING)
        else:
            turn_to(self.page, path, house.HEADING)

    def wrong(self) -> list[str]:
        """The errors and violations reported since the last call."""
        violations: list[str] = self.page.evaluate("window.violations.splice(0)")
        said, self.said[:] = [*self.said, *violations], []
        return said


@pytest.fixture(scope="module")
def walk(context: BrowserContext, address: str) -> Iterator[Walk]:
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield Walk(page, address)
    page.close()


LIGHT: list[tuple[Theme, str]] = [("light", url) for url in EVERY]
OTHER_THEME = pytest.mark.slow("the other theme")
DARK = [
    pytest.param("dark", url, marks=OTHER_THEME) for url in ("", "summary", "timeline", "kernel_profiles", "findings")
]
"""Pages that draw all that has colors of its own: tables and buttons, charts, the timeline's canvas, bars, evidence."""
BY_LINK = {"", "summary", "timeline"}
"""Pages opened by a link into a new document; the others by the menu, in the document that is open."""


def shown(url: str) -> str:
    """The name of the report that a page is opened with."""
    return SHOWS.get(url, house.MEASURED if get_view(url).subject == LAUNCHES else house.TRAINING)


def path_of(library: Library, url: str) -> str:
    """The address of a page with its report."""
    if not url:
        return "/"
    more = {"kernel": "&kernel=1", "compare": f"&other={library.find(house.ENERGY).id}"}
    return f"/{url}?report={library.find(shown(url)).id}{more.get(url, '')}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("theme", "url"), [*LIGHT, *DARK])
def test_a_page_opens_under_the_policy_and_breaks_no_rule(walk: Walk, library: Library, theme: Theme, url: str) -> None:
    page, path = walk.page, path_of(library, url)
    name = shown(url) if url else ""
    if name:
        assert library.find(name).id != library.list()[0].id, "a page without a link would show another report"
    walk.open(path, theme, by_link=url in BY_LINK)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape(path) + "(&|$)"))
    across = bool(url) and get_view(url).across  # it shows series, of which this library has none
    if url and not across:
        switcher = page.locator(".st-key-top-bar").get_by_role("combobox").first
        expect(switcher).to_have_value(re.compile(re.escape(name)))
    if url == "findings":
        page.get_by_text(re.compile(r"^Evidence \(\d+\)$")).first.click()
    if url in WITHOUT:
        expect(page.get_by_text(WITHOUT[url])).to_be_visible()
    elif not across:
        expect(page.locator(DRAWN).first).to_be_attached()
    expect(page.get_by_test_id("stLogo").or_(page.get_by_test_id("stSidebarLogo")).first).to_be_attached()
    assert "error" not in page.evaluate(FONTS)
    assert page.evaluate(EMPTY) == []
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).fontVariantNumeric") == "tabular-nums"
    assert broken(page) == []
    assert walk.wrong() == []
