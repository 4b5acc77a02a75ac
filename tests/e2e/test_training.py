"""Clicks on tables of Compare and Phases: a kernel's spread of durations, and an iteration detected from kernels."""

import re

import pytest
from playwright.sync_api import Page, Position, expect

from app.selection.url_parameters import format_milliseconds
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.e2e import house

pytestmark = pytest.mark.browser
FIRST_ROW: Position = {"x": 60, "y": 50}


@pytest.fixture
def page(visitor: Page) -> Page:
    """The tests look with the same page, one after the other."""
    return visitor


@pytest.mark.slow("compares two reports in a browser")
def test_a_click_on_a_kernel_of_compare_draws_how_its_durations_spread(
    page: Page, address: str, library: Library
) -> None:
    ids = [library.find(name).id for name in (house.TRAINING, house.STEPS)]
    house.show(page, address, f"/compare?report={ids[1]}&other={ids[0]}")
    charts = page.locator(".js-plotly-plot")
    expect(charts.first).to_be_visible()
    kernels = page.locator(".st-key-compare-kernels [data-testid=stDataFrame]")
    kernels.scroll_into_view_if_needed()
    before = charts.count()
    kernels.click(position=FIRST_ROW)
    expect(charts).to_have_count(before + 1)
    spread = page.locator(".st-key-compare-spread .js-plotly-plot")
    expect(spread).to_be_visible()
    drawn = spread.evaluate("chart => chart._fullData.map(trace => trace.y.length)")
    assert len(drawn) >= 2, "one curve a report"
    assert all(drawn)


@pytest.mark.slow("another chart with a click")
def test_a_click_on_an_iteration_offers_its_stretch_of_time(page: Page, address: str, library: Library) -> None:
    report = library.find(house.BARE).id
    rows = analysis.run(library, report, "detected_iterations", {})
    assert len(rows) > 2, "the steps of training repeat the same kernels"
    house.show(page, address, f"/phases?report={report}")
    page.get_by_text("Iterations detected from kernels").click()
    table = page.locator(".st-key-detected [data-testid=stDataFrame]")
    expect(table).to_be_visible()
    table.click(position=FIRST_ROW)
    page.get_by_role("button", name="Phases of iteration 1 alone").click()
    begin, end = (format_milliseconds(int(rows.iloc[0][column])) for column in ("start_ns", "end_ns"))
    expect(page).to_have_url(re.compile(rf"from={re.escape(begin)}&to={re.escape(end)}$"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
