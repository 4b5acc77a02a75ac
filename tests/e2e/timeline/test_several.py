"""Several reports below each other: each lane shows its report's time, shifted by the alignment."""

import math
import re
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from playwright.sync_api import Locator, Page, Position, expect

from profiledb.library.library import Library
from profiledb.studies import run_lookup
from profiledb.studies.trends import summary_refresh
from tests.conftest import wait_until
from tests.e2e.timeline.timeline_page import RANKS, TimelinePage, at, kernels, needed

pytestmark = needed
LEFT_PX, RIGHT_PX, TOP_PX, ROW_PX = 74, 2, 26, 22
"""Margins of the heat map, and the height of its rows."""
SHIFT = 40_000_000
"""ns by which the second report is moved by hand."""


@pytest.mark.slow("draws four reports")
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


@pytest.mark.slow("draws four reports")
def test_a_click_on_the_heat_map_of_a_run_leads_to_the_rank_at_this_step(
    page: Page, address: str, library: Library
) -> None:
    """Two of four ranks are listed: the click is on the second one in a middle step, aligned with the first."""
    summary_refresh.refresh(library)
    first, second = (at(page, address, library, rank) for rank in RANKS)
    run = run_lookup.require_run(library, first.report)
    known = run_lookup.answer(library, run)
    column = len(known.steps) // 2
    page.goto(f"{address}/run?report={first.report}")
    canvas = page.get_by_role("img", name=f"Step time of 2 ranks in {len(known.steps)} steps")
    expect(canvas).to_be_visible()
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    width = (box["width"] - LEFT_PX - RIGHT_PX) / len(known.steps)
    cell: Position = {"x": LEFT_PX + (column + 0.5) * width, "y": TOP_PX + 1.5 * ROW_PX}
    canvas.hover(position=cell)
    expect(page.locator(".heat .tip")).to_contain_text(f"rank 1 on {run.ranks[1].host}, step {known.steps[column]}: ")
    canvas.click(position=cell)
    begin = round(float(known.starts[1, column]))
    end = round(float(known.starts[1, column]) + float(known.heat["duration_ns"][1, column]))
    page.wait_for_url(re.compile(rf"/timeline\?report={second.report}.*area={begin}(~|%7E){end}"))
    page.wait_for_url(re.compile(rf"with={first.report}.*align=collective"))
    second.settled().until("s.align === 'collective' && s.shifts.length === 2")
    state = second.state
    assert state["t0"] < begin < end < state["t1"]
    told = [rank.told("moments")["collectives"] for rank in (second, first)]
    apart = [a[1] - b[1] - state["shifts"][1] for a, b in zip(*told, strict=True)]
    assert max(map(abs, apart)) < 1_000_000


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


@pytest.mark.slow("draws four reports")
def test_minimap_hits_and_traces_are_those_of_every_report(page: Page, address: str, library: Library) -> None:
    first, second = (at(page, address, library, rank) for rank in RANKS)
    first.open()
    page.get_by_role("button", name="Add reports").click()
    box = page.get_by_role("dialog").get_by_role("combobox", name="Reports")
    box.press("Backspace")  # the visitor's last choice for this report, if there was one
    _search_option(page, box, RANKS[1]).click()
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Show them").click()
    page.wait_for_url(re.compile(f"with={second.report}"))
    first.until("s.shifts.length === 2")
    first.settled()
    page.get_by_label("Reports are aligned by").select_option("hand")
    page.get_by_label(re.compile("^Shift of")).fill(str(SHIFT))
    page.keyboard.press("Tab")
    first.until(f"s.shifts[1] === {SHIFT}")
    first.settled()
    for at_place, rank in enumerate((first, second)):
        _busy_is_drawn(first, at_place, rank.told("lanes"))
    page.get_by_label("Search names of events").fill("nccl")
    first.until("s.hits > 0")
    assert first.ask("density") == [rank.told("search?q=nccl&how=part")["density"] for rank in (first, second)]
    _its_trace_is_saved(first, second)


def _search_option(page: Page, box: Locator, text: str) -> Locator:
    """Type into a choice until it offers the option: a dialog that has just opened may draw its widgets once more."""
    option = page.get_by_role("option", name=re.compile(text))

    def is_offered() -> bool:
        if option.is_visible():
            return True
        box.fill("")
        box.fill(text)
        return False

    wait_until(is_offered)
    return option


def _busy_is_drawn(shown: TimelinePage, place: int, told: dict[str, Any]) -> None:
    """The shares of a report add up to the time in which its streams ran something; the busiest part is drawn high."""
    shares, now = shown.ask("busy")[place], shown.state
    bin_ns = 2 ** math.ceil(math.log2(told["end_ns"] / len(shares)))
    busy = [one["busy_ns"] for one in told["lanes"] if one["kind"] == "stream"]
    assert max(busy) * 0.99 <= sum(shares) * bin_ns <= sum(busy) * 1.01
    room = 0.02 * now["end"]
    busiest = max(range(len(shares)), key=lambda at: shares[at])
    x = (now["shifts"][place] + (busiest + 0.5) * bin_ns + room) / (now["end"] + 2 * room) * now["width"]
    bottom = 14 * (place + 1)
    assert shares[busiest] > 0.3
    assert shown.ask("mapped", x, bottom - 3) != shown.ask("mapped", 3, bottom - 3)


def _its_trace_is_saved(shown: TimelinePage, second: TimelinePage) -> None:
    """The trace of the report below has the events of the area, at its own times."""
    low = second.told("lanes")["end_ns"] // 2
    high = low + 5_000_000
    shown.page.goto(f"{shown.page.url}&area={low + SHIFT}~{high + SHIFT}")
    shown.settled()
    with shown.page.expect_download() as found:
        shown.page.get_by_role("button", name=re.compile("^Perfetto trace of .*rank1")).click()
    assert found.value.suggested_filename == f"{RANKS[1]}.sqlite.pftrace"
    url = f"{second.address}/_warpdeck/timeline/{second.report}/trace?from={low}&to={high}"
    own = second.page.request.get(url).body()
    assert found.value.path().read_bytes() == own
    trace = Trace()
    trace.ParseFromString(own)
    assert any(packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN for packet in trace.packet)
