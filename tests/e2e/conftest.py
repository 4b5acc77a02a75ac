"""A browser for all modules, in which each test starts as a new visitor, and a fixture that keeps the CPU busy."""

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
"""An address of the same site as all dashboards, because sites ignore ports. No server listens there."""

PATIENCE_MS = 60_000
KEEP_A_DOCUMENT = "timeline"
"""The folder of modules whose tests all use one page."""


@pytest.fixture(autouse=True)
def patience() -> None:
    """Raise the timeout of expectations, for busy machines."""
    expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for the tests of all modules. Playwright's loop ends with them, because other tests run their own."""
    with pages.open_browser([ONE_RENDERER]) as browser:
        yield browser


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """The context of all pages, in one renderer process that keeps Streamlit and chart scripts compiled.

    The process lives while any page of the site is open, so an empty one stays open.
    """
    with browser.new_context(viewport=house.VIEWPORT) as context:
        kept = context.new_page()
        kept.route(SITE, lambda route: route.fulfill(body="", content_type="text/html"))
        kept.goto(SITE)
        yield context


@pytest.fixture(scope="package")
def data(once: Once, with_sidecars: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that the tests of a process share (house.py); they must not change its reports."""
    built = once("house", lambda folder: house.build(folder, with_sidecars))
    folder = tmp_path_factory.mktemp("house") / "data"
    copy_data(built, folder)
    conversion_cache.share_answers(folder / "library")
    return folder


@pytest.fixture
def library(data: Path) -> Library:
    """The shared library of the tests."""
    return Library(data / "library")


@pytest.fixture(scope="package")
def address(data: Path) -> Iterator[str]:
    """The shared dashboard, which does not watch an inbox."""
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with pages.run_dashboard(settings) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(context: BrowserContext) -> Iterator[Page]:
    """A page that stays open across the tests of a module.

    Loading a new document costs five times as much as navigating within it (``house.show``).
    """
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()


@pytest.fixture
def page(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Page]:
    """A page without cookies of other tests; timeline tests reuse its document (``TimelinePage.open``)."""
    if request.node.path.parent.name == KEEP_A_DOCUMENT:
        yield from kept_open(request)
        return
    page = house.stranger(context)
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()


def kept_open(request: pytest.FixtureRequest) -> Iterator[Page]:
    """The visitor's page, reset to a fresh state, and to a blank document after a failed test."""
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
    """Load the machine with many more runnable processes than cores while the test runs."""
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
