"""A browser for each test, and a machine that is busy."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bench.pages import browser_page

BUSY_PER_CORE = 10


@pytest.fixture
def page() -> Iterator[Page]:
    """A page wide enough for everything, with patience for a busy machine."""
    with browser_page() as page:
        page.set_default_timeout(60_000)
        page.set_viewport_size({"width": 1440, "height": 1000})
        expect.set_options(timeout=60_000)
        yield page


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
