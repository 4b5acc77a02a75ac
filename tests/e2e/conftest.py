"""A browser for all modules, in which each test is a stranger, and a machine that is busy."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bench import pages

BUSY_PER_CORE = 10


ONE_RENDERER = "--renderer-process-limit=1"
SITE = "http://127.0.0.1:1/"
"""Of the site of all dashboards, because a site has no port. Nobody listens there."""


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
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        kept = context.new_page()
        kept.route(SITE, lambda route: route.fulfill(body="", content_type="text/html"))
        kept.goto(SITE)
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page without the cookies of others, wide enough for everything, with patience for a busy machine."""
    page = context.new_page()
    kept = "cookies,local_storage,indexeddb,service_workers,websql,cache_storage"
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": kept})
    context.clear_cookies()
    context.clear_permissions()
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    yield page
    page.close()


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
