"""The theme changes while a page is open, which only a browser shows."""

import pytest
from playwright.sync_api import Page, expect

from bench.pages import wait_at_rest
from tests.e2e import house

pytestmark = pytest.mark.browser

TICKS = """() => [...document.querySelectorAll('.js-plotly-plot .xtick text')].map(one => getComputedStyle(one).fill)"""


BOXES = """() => [...document.querySelectorAll('.st-key-pair-distribution .js-plotly-plot')].map(one => {
    const box = one.getBoundingClientRect(); return [Math.round(box.x), Math.round(box.y), Math.round(box.width)] })"""
"""Left, top and width of the two charts of a kernel, in pixels."""


def test_columns_stand_below_each_other_where_they_have_no_room(page: Page, address: str) -> None:
    page.goto(f"{address}/kernel?report={house.TRAINING}&kernel=1")
    wait_at_rest(page, ".st-key-pair-distribution .xtick")
    (left, top, width), (other_left, other_top, other_width) = page.evaluate(BOXES)
    assert (top, width) == (other_top, other_width)
    assert other_left >= left + width
    page.set_viewport_size({"width": 800, "height": 1000})
    page.wait_for_function(f"() => ({BOXES})().every(box => box[2] > 600)")
    (left, top, width), (other_left, other_top, other_width) = page.evaluate(BOXES)
    assert (left, width) == (other_left, other_width)
    assert other_top > top


@pytest.mark.slow("draws a page four times")
def test_charts_follow_the_theme_of_an_open_page(page: Page, address: str) -> None:
    """If the system turns dark in the evening, chart labels in the light theme's color would be unreadable."""
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}/kernel?report={house.TRAINING}&kernel=1")
    wait_at_rest(page, ".js-plotly-plot .xtick")
    light = set(page.evaluate(TICKS))
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".js-plotly-plot .xtick text").first).not_to_have_css("fill", light.copy().pop())
    wait_at_rest(page, ".js-plotly-plot .xtick")
    changed = set(page.evaluate(TICKS))
    page.reload()
    wait_at_rest(page, ".js-plotly-plot .xtick")
    assert changed == set(page.evaluate(TICKS)) != light
