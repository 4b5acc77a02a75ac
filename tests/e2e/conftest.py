"""A browser for each module, in which each test is a stranger, and a machine that is busy."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bench import pages

BUSY_PER_CORE = 10


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module."""
    with pages.browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What the pages of a module share: scripts of Streamlit that are loaded and compiled already."""
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page without the cookies of others, wide enough for everything, with patience for a busy machine."""
    page = context.new_page()
    kept = "cookies,local_storage,indexeddb,service_workers,websql,cache_storage"
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": kept})
    context.clear_cookies()
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
