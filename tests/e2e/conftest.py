"""A browser for all modules, in which each test is a stranger, and a machine that is busy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bench import pages
from profiledb.library.library import Library
from tests.conftest import Once, copy_data
from tests.e2e import house
from tests.support import conversion_cache

BUSY_PER_CORE = 10

ONE_RENDERER = "--renderer-process-limit=1"
SITE = "http://127.0.0.1:1/"
"""Of the site of all dashboards, because a site has no port. Nobody listens there."""

PATIENCE_MS = 60_000
KEEP_A_DOCUMENT = "timeline"
"""The folder of modules whose tests all look at one page."""


@pytest.fixture(autouse=True)
def patience() -> None:
    """What a test expects may take its time on a busy machine."""
    expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for the tests of all modules. Playwright's loop ends with them: other tests run their own."""
    with pages.browser([ONE_RENDERER]) as browser:
        yield browser


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What all pages share: one process, which keeps scripts of Streamlit and of charts compiled.

    It lives as long as a page of the site is open, so that an empty one is.
    """
    with browser.new_context(viewport=house.VIEWPORT) as context:
        kept = context.new_page()
        kept.route(SITE, lambda route: route.fulfill(body="", content_type="text/html"))
        kept.goto(SITE)
        yield context


@pytest.fixture(scope="package")
def data(once: Once, with_sidecars: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that the tests of a process share (house.py); they leave its reports as they are."""
    built = once("house", lambda folder: house.build(folder, with_sidecars))
    folder = tmp_path_factory.mktemp("house") / "data"
    copy_data(built, folder)
    conversion_cache.share_answers(folder / "library")
    return folder


@pytest.fixture
def library(data: Path) -> Library:
    """The library of the house."""
    return Library(data / "library")


@pytest.fixture(scope="package")
def address(data: Path) -> Iterator[str]:
    """The dashboard of the house, which looks after no inbox."""
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with pages.dashboard(settings) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(context: BrowserContext) -> Iterator[Page]:
    """A page that stays open from test to test of a module, as people have it open: a document costs five times what a
    turn within it does (``house.show``)."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()


@pytest.fixture
def page(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Page]:
    """A page without the cookies of others; tests of the timeline keep its document (``TimelinePage.open``)."""
    if request.node.path.parent.name == KEEP_A_DOCUMENT:
        yield from kept_open(request)
        return
    page = house.stranger(context)
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()


def kept_open(request: pytest.FixtureRequest) -> Iterator[Page]:
    """The visitor's page, as a new one looks; without a document after a test that failed."""
    page: Page = request.getfixturevalue("visitor")
    failed = request.session.testsfailed
    house.forget(page.context, page)
    yield page
    page.emulate_media(color_scheme="null")
    if page.viewport_size != house.VIEWPORT:
        page.set_viewport_size(house.VIEWPORT)
    if request.session.testsfailed != failed:
        page.goto("about:blank")


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Many more processes that want to run than there are cores, as long as the test takes."""
    loop = [sys.executable, "-c", "import os\nos.nice(5)\nwhile os.getppid() == int(os.environ['PARENT']): pass"]
    environment = os.environ | {"PARENT": str(os.getpid())}
    count = BUSY_PER_CORE * (os.cpu_count() or 1)
    processes = [subprocess.Popen(loop, env=environment) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
