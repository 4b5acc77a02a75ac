"""Areas, steps and searches agree with the answers of pages."""

import re

from playwright.sync_api import expect

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.e2e.timeline.timeline_page import TimelinePage, needed

pytestmark = needed


def test_an_area_answers_what_the_pages_answer(training: TimelinePage, library: Library) -> None:
    training.open()
    x0, x1 = training.x(370e6), training.x(430e6)
    training.drag(training.page.locator("canvas.axis"), x0, x1)
    training.until("s.area")
    area = training.state["area"]
    window = {"from_ns": area["from"], "to_ns": area["to"], "warmup": "include"}
    stream = training.lane("stream")
    rows = analysis.run(library, training.report, "kernels", window)
    copies = analysis.run(library, training.report, "copies", window)
    shown = training.panel.locator("tr", has_text=stream["title"]).first.locator("td")
    expect(shown.nth(1)).to_have_text(f"{int(rows['calls'].sum() + copies['count'].sum()):,}")


def test_an_area_becomes_the_selection_of_all_pages(training: TimelinePage) -> None:
    training.open("&area=380000000~400000000&t0=370000000&t1=430000000")
    page = training.page
    expect(training.panel.get_by_text("By lane")).to_be_visible()
    training.panel.get_by_role("button", name="Select this time").click()
    page.wait_for_url(re.compile(r"from=380&to=400"))
    training.until("s.selected?.from === 380e6 && s.selected.to === 400e6")
    page.wait_for_url(re.compile(r"t0=370000000"))
    expect(training.panel.get_by_text("All pages show this time.")).to_be_visible()
    page.locator(".st-key-menu").get_by_text("Kernels", exact=True).click()
    expect(page.get_by_role("heading", name="Kernels")).to_be_visible()
    expect(page).to_have_url(re.compile(r"from=380&to=400"))


def test_a_search_counts_and_goes_from_hit_to_hit(training: TimelinePage, library: Library) -> None:
    training.open()
    box = training.page.get_by_role("searchbox", name="Search names of events")
    box.fill("softmax")
    told = training.told("search?q=softmax&how=part")
    training.until(f"s.hits === {told['hits']}")
    rows = analysis.run(library, training.report, "kernels", {"warmup": "include"})
    of_kernels = int(rows.loc[rows["name"].str.contains("softmax", case=False), "calls"].sum())
    assert told["hits"] >= of_kernels > 0
    box.press("Enter")
    training.until("s.chosen")
    first = training.state["chosen"]
    assert "softmax" in first["name"].lower()
    box.press("Enter")
    training.until(f"s.chosen.ref !== {first['ref']}")
    box.press("Shift+Enter")
    training.until(f"s.chosen.ref === {first['ref']}")
    training.page.get_by_label("How to search").select_option("pattern")
    box.fill("(")
    expect(training.page.locator(".hits")).not_to_have_text(re.compile("hit"))
    box.press("Escape")
    training.until("s.hits === 0")
