"""What only a browser shows of how pages look: a theme that changes while a page is open."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.pages import dashboard, wait_at_rest
from tests.conftest import ingest_files
from tests.support import exports

pytestmark = pytest.mark.browser

TICKS = """() => [...document.querySelectorAll('.js-plotly-plot .xtick text')].map(one => getComputedStyle(one).fill)"""


def test_charts_follow_the_theme_of_an_open_page(page: Page, tmp_path: Path) -> None:
    """A computer that turns dark in the evening: words of charts in the light theme's color could not be read."""
    name = "kernels.sqlite"
    rows = [exports.kernel(1_000 * at, 1_000 * at + 500) for at in range(1, 9)]
    ingest_files(tmp_path, [exports.write(tmp_path / name, exports.kernels(*rows))])
    with dashboard({"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off"}) as address:
        page.emulate_media(color_scheme="light")
        page.goto(f"{address}/kernel?report={name}")
        wait_at_rest(page, ".js-plotly-plot .xtick")
        light = set(page.evaluate(TICKS))
        page.emulate_media(color_scheme="dark")
        expect(page.locator(".js-plotly-plot .xtick text").first).not_to_have_css("fill", light.copy().pop())
        wait_at_rest(page, ".js-plotly-plot .xtick")
        changed = set(page.evaluate(TICKS))
        page.reload()
        wait_at_rest(page, ".js-plotly-plot .xtick")
        assert changed == set(page.evaluate(TICKS)) != light
