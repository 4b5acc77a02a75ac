"""The roofline as a person uses it: a click on a point opens its launch; a Systems report is linked on the page."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from profiledb.library.library import Library
from tests.e2e import house

pytestmark = pytest.mark.browser

# Where on the screen the chart draws the point with this key.
PLACE = """key => {
  const chart = document.querySelector('.js-plotly-plot');
  const {xaxis, yaxis} = chart._fullLayout;
  for (const trace of chart._fullData) {
    const at = (trace.customdata ?? []).indexOf(key);
    if (at < 0) continue;
    const box = chart.getBoundingClientRect();
    return [box.left + xaxis._offset + xaxis.d2p(trace.x[at]), box.top + yaxis._offset + yaxis.d2p(trace.y[at])];
  }
  return null;
}"""


@pytest.fixture
def unlinked(library: Library) -> Iterator[tuple[str, str]]:
    """The ids of a Systems report without a link and of the Compute report that covers it; no link stays behind."""
    systems, compute = (library.find(name).id for name in (house.PAIR, house.LAUNCHES))
    assert library.linked_report(systems) is None
    yield systems, compute
    library.unlink(systems)


def test_a_click_opens_the_launch_and_a_link_stays(
    page: Page, address: str, library: Library, unlinked: tuple[str, str]
) -> None:
    systems, compute = unlinked
    page.goto(f"{address}/roofline?report={compute}")
    expect(page.locator(".js-plotly-plot .scatterlayer")).to_be_visible()
    page.wait_for_function(f"() => ({PLACE})('/1')")
    page.mouse.click(*page.evaluate(PLACE, "/1"))
    expect(page).to_have_url(re.compile(r"/kernel_profiles\?.*launch=1(&|$)"))
    expect(page.get_by_text("Launch 1: reduction")).to_be_visible()

    house.show(page, address, f"/roofline_by_time?report={systems}")
    expect(page.get_by_text("ncu covers 100.0 % of kernel time")).to_be_visible()
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_role("button", name="Link", exact=True)).not_to_be_attached()
    assert library.linked_report(systems) == compute
