"""A browser for each test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bench.pages import browser_page


@pytest.fixture
def page() -> Iterator[Page]:
    """A page wide enough for everything, with patience for a busy machine."""
    with browser_page() as page:
        page.set_default_timeout(60_000)
        page.set_viewport_size({"width": 1440, "height": 1000})
        expect.set_options(timeout=60_000)
        yield page
