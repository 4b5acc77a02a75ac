"""The roofline as a person uses it: a click on a point opens its launch; a Systems report is linked on the page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.pages import dashboard
from profiledb.report.library import Library
from tests.conftest import SAMPLES, ingest_files

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
def library(tmp_path: Path) -> Library:
    """A library with the pair of reports of the sample kernels."""
    ingest_files(tmp_path, [SAMPLES / "kernels.ncu-rep", SAMPLES / "kernels.sqlite"])
    return Library(tmp_path / "library")


def test_a_click_opens_the_launch_and_a_link_stays(page: Page, library: Library, tmp_path: Path) -> None:
    compute, systems = (library.find(name).id for name in ("kernels.ncu-rep", "kernels.sqlite"))
    with dashboard({"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off"}) as address:
        page.goto(f"{address}/roofline?report={compute}")
        expect(page.locator(".js-plotly-plot .scatterlayer")).to_be_visible()
        page.wait_for_function(f"() => ({PLACE})('/1')")
        page.mouse.click(*page.evaluate(PLACE, "/1"))
        expect(page).to_have_url(re.compile(r"/ncu\?.*launch=1(&|$)"))
        expect(page.get_by_text("Launch 1: reduction")).to_be_visible()

        page.goto(f"{address}/roofline_time?report={systems}")
        expect(page.get_by_text("ncu covers 100.0 % of kernel time")).to_be_visible()
        page.get_by_role("button", name="Link", exact=True).click()
        expect(page.get_by_role("button", name="Link", exact=True)).not_to_be_attached()
        assert library.linked(systems) == compute
