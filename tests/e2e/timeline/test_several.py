"""Several reports below each other: each lane is where its report says, moved by what aligns them."""

import re

from playwright.sync_api import Page, expect

from profiledb.report.library import Library
from tests.e2e.timeline.timeline_page import RANKS, TimelinePage, at, kernels, needed

pytestmark = needed


def test_ranks_are_aligned_by_a_collective_or_by_the_clock(page: Page, address: str, library: Library) -> None:
    first, second = (at(page, address, library, rank) for rank in RANKS)
    page.goto(f"{address}/scaling?report={first.report}")
    page.get_by_role("link", name="Ranks on the Timeline").click()
    first.settled()
    first.until("s.align === 'collective'")
    told = [rank.told("moments") for rank in (first, second)]
    ends = [[end for _, end in one["collectives"]] for one in told]
    shift = first.settled().state["shifts"][1]
    apart = [a - b - shift for a, b in zip(*ends, strict=True)]
    assert len(apart) > 3
    assert sorted(apart)[(len(apart) - 1) // 2] == 0, "the median of what they differ by is what they were moved by"
    assert max(map(abs, apart)) < 1_000_000
    expect(page.locator(".aligned")).to_contain_text(re.compile(r"ends of \d+ collectives differ by .* at most"))
    _lanes_are_where_they_belong(first, second, library, shift)
    page.get_by_label("Reports are aligned by").select_option("clock")
    clocks = [int(one["epoch_ns"]) for one in told]
    first.until(f"s.shifts[1] === {clocks[1] - clocks[0]}")
    expect(page.locator(".aligned")).to_contain_text("By the clocks of the machines")
    page.get_by_label("Reports are aligned by").select_option("hand")
    page.get_by_label(re.compile("^Shift of")).fill("1234567")
    page.keyboard.press("Tab")
    first.until("s.shifts[1] === 1234567")
    page.wait_for_url(re.compile(r"align=hand&shift=1234567"))
    page.reload()
    first.settled().until("s.shifts[1] === 1234567")
    _lanes_are_where_they_belong(first, second, library, 1_234_567)


def _lanes_are_where_they_belong(shown: TimelinePage, second: TimelinePage, library: Library, shift: int) -> None:
    """The kernels of the second report's stream, its names, events and neighbors, in the time of the first."""
    lanes = shown.settled().ask("lanes")
    heading = [one for one in lanes if one["kind"] == "report"][1]
    gpus = {one["id"] for one in lanes if one["parent"] == heading["id"]}
    lane = max(
        (one for one in lanes if one["kind"] == "stream" and one["parent"] in gpus), key=lambda one: one["events"]
    )
    origin = int(second.told("lanes")["origin_ns"])
    events = kernels(library, second.report, lane["stream"], origin)
    assert len(events) == lane["events"]
    middle = events[len(events) // 2]
    shown.go(middle[0] + shift - 20_000, middle[1] + shift + 20_000)
    shown.page.locator(".scroll").evaluate("(box, y) => { box.scrollTop = y }", 0)
    items = [(one["start"] - shift, one["end"] - shift) for one in shown.settled().ask("items", lane["id"])]
    assert middle in items
    assert set(items) <= set(events)
