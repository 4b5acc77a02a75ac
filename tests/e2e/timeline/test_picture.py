"""The picture agrees with the report, on screen and in files, also with hostile names."""

import io
from typing import Literal
from xml.etree import ElementTree

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from PIL import Image
from playwright.sync_api import Page, expect

from profiledb.library.library import Library
from tests.e2e.test_accessibility import broken
from tests.e2e.timeline.timeline_page import LEVELS, NOTHING, TimelinePage, at, kernels, needed, saved

pytestmark = needed


LOOK = """([places, y]) => {
  const timeline = window.__warpdeck_timeline;
  return Promise.all(places.map(async x =>
    [await timeline.under(x + 0.5, y), await timeline.pixel(x + 0.5, y - 7)]));  // above the names
}"""
"""What lies at places of a lane, px from the left, and the color there: a question each would take 5 ms."""


def test_what_is_drawn_is_what_the_report_holds(training: TimelinePage, library: Library) -> None:
    training.open()
    lane = training.lane("stream")
    events = kernels(library, training.report, lane["stream"], int(training.told("lanes")["origin_ns"]))
    middle = events[len(events) * 3 // 4][0]
    looked = 0
    for span in (100_000_000, 5_000_000, 400_000):
        training.go(middle - span / 2, middle + span / 2)
        now, y = training.state, training.y(lane["id"])
        per_px = (now["t1"] - now["t0"]) / now["width"]
        colors = {one["color"]: training.ask("color", one["color"]) for one in training.ask("items", lane["id"])}
        drawn = [[int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in colors.values()]
        places = range(5, now["width"] - 5, 3)
        for x, (under, pixel) in zip(places, training.page.evaluate(LOOK, [list(places), y]), strict=True):
            low, high = now["t0"] + (x - 2.5) * per_px, now["t0"] + (x + 3.5) * per_px
            inside = [one for one in events if one[1] >= low and one[0] <= high]
            if not inside:
                assert pixel not in drawn, (span, x)
                assert under is None
            elif len(inside) == 1 and inside[0][0] < low and inside[0][1] > high:
                assert (under["start"], under["end"]) == inside[0]
                color = colors[under["color"]]
                assert pixel == [int(color[k : k + 2], 16) for k in (1, 3, 5)], (span, x)
                looked += 1
    assert looked > 50
    training.ask("go", -1e18, 1e18)
    training.settled()
    for lane in training.ask("lanes"):
        if lane["kind"] in ("stream", "api"):
            assert sum(one["count"] for one in training.ask("items", lane["id"])) == lane["events"], lane["title"]


def test_names_with_markup_stay_text(page: Page, address: str, library: Library) -> None:
    timeline = at(page, address, library, "idle_host_bound").open()
    box = page.get_by_role("searchbox", name="Search names of events")
    box.fill("<img src=x")
    timeline.until("s.hits > 0")
    box.press("Enter")
    timeline.until("s.chosen")
    expect(timeline.panel).to_contain_text("onerror=window.ran=1")
    chosen = timeline.state["chosen"]
    timeline.go(chosen["start"] - 1000, chosen["end"] + 1000)
    timeline.plot.hover(
        position={"x": timeline.x((chosen["start"] + chosen["end"]) / 2), "y": timeline.y(chosen["lane"])}
    )
    expect(page.locator(".tip b")).to_have_text(chosen["name"])
    expect(page.locator(".tl img")).to_have_count(0)
    timeline.plot.focus()
    page.get_by_role("button", name="More").click()
    _, drawing = saved(timeline, "Save SVG")
    page.keyboard.press("Escape")
    assert b"&lt;img src=x" in drawing
    assert b"<img" not in drawing
    power = timeline.lane("line", "Power")
    assert [one["title"] for one in timeline.ask("lanes") if one["id"] == power["parent"]] == ["Power and clocks"]
    assert page.evaluate("window.ran") is None


@pytest.mark.slow("draws another report")
def test_streams_that_overlap_are_lanes_of_their_own(page: Page, address: str, library: Library) -> None:
    timeline = at(page, address, library, "streams_overlapped").open()
    streams = [one for one in timeline.ask("lanes") if one["kind"] == "stream"]
    assert len(streams) == 4
    for lane in streams:
        events = kernels(library, timeline.report, lane["stream"], int(timeline.told("lanes")["origin_ns"]))
        drawn = [(one["start"], one["end"]) for one in timeline.ask("items", lane["id"]) if one["count"] == 1]
        assert set(drawn) <= set(events)
        assert sum(one["count"] for one in timeline.ask("items", lane["id"])) == len(events)


@pytest.mark.slow("draws another report")
def test_a_deep_lane_shows_some_levels_until_more_are_asked_for(page: Page, address: str, library: Library) -> None:
    """A search scrolls to hidden levels all the same, and a link keeps the number of levels."""
    timeline = at(page, address, library, "deep").open()
    lane = timeline.lane("range")["id"]
    few = page.get_by_role("button", name=f"16 of {LEVELS} levels: show 64")
    many = page.get_by_role("button", name=f"64 of {LEVELS} levels: show 16")
    assert timeline.ask("place", lane)["h"] == 16 * 16 + 5
    few.click()
    expect(many).to_be_visible()
    assert timeline.ask("place", lane)["h"] == 64 * 16 + 5
    page.wait_for_function(f"() => new URLSearchParams(location.search).get('deep') === '{lane}'")
    many.click()
    expect(few).to_be_visible()
    page.get_by_role("searchbox", name="Search names of events").fill("level_40")
    page.keyboard.press("Enter")
    timeline.until("s.chosen?.name === 'level_40'")
    expect(many).to_be_visible()
    place = timeline.ask("place", lane)
    assert 0 <= place["y"] + timeline.state["chosen"]["row"] * place["row"] <= timeline.state["height"]


def test_a_report_of_nothing_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}/timeline?report={NOTHING}")
    expect(page.get_by_text("no events to draw over time")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow("the other theme"))])
def test_it_breaks_no_rule_of_accessibility(training: TimelinePage, theme: Literal["light", "dark"]) -> None:
    training.page.emulate_media(color_scheme=theme)
    training.open("&t0=400000000&t1=402000000&mark=401000000~here")
    assert broken(training.page) == []
    stream = training.lane("stream")["id"]
    training.choose(stream, training.longest(stream))
    assert broken(training.page) == []
    training.page.keyboard.press("x")
    expect(training.panel.get_by_text("By lane")).to_be_visible()
    assert broken(training.page) == []
    summary = training.page.locator("#tl-summary")
    expect(summary).to_contain_text("events in")
    expect(training.page.locator(".unseen table tbody tr").first).to_be_attached()


def check_drawing(training: TimelinePage, drawing: bytes) -> None:
    """An SVG holds every bar of a lane in its place, nothing that runs, and the names of the lanes as texts."""
    root = ElementTree.fromstring(drawing)
    kinds = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()}
    assert kinds == {"svg", "title", "rect", "text", "path"}
    lane, now = training.lane("stream"), training.state
    colors = {training.ask("color", one["color"]) for one in training.ask("items", lane["id"])}
    scale = now["width"] / (now["t1"] - now["t0"])
    starts = {
        float(part.split(" ")[0]) for element in root.iter() if element.get("fill") in colors
        for part in element.get("d", "").split("M")[1:]
    }  # fmt: skip
    for one in training.ask("items", lane["id"]):
        x = max(-2, (one["start"] - now["t0"]) * scale)
        assert any(abs(x - start) < 0.5 for start in starts), one
    assert lane["title"] in {element.text for element in root.iter()}


def test_the_picture_and_the_trace_of_an_area_are_saved(training: TimelinePage, library: Library) -> None:
    training.open("&t0=400000000&t1=402000000&area=400500000~401500000")
    training.page.get_by_role("button", name="More").click()
    name, picture = saved(training, "Save PNG")
    assert name == "transformer_training.sqlite.timeline.png"
    with Image.open(io.BytesIO(picture)) as drawn:
        assert drawn.width > training.state["width"]
        assert len(set(drawn.convert("RGB").tobytes())) > 20
    name, drawing = saved(training, "Save SVG")
    assert name == "transformer_training.sqlite.timeline.svg"
    check_drawing(training, drawing)
    training.page.keyboard.press("Escape")
    name, data = saved(training, "Perfetto trace")
    assert name == "transformer_training.sqlite.pftrace"
    whole = Trace()
    whole.ParseFromString(data)
    stream = training.lane("stream")
    (track,) = [
        packet.track_descriptor.uuid
        for packet in whole.packet
        if packet.track_descriptor.name == f"Stream {stream['stream']}"
    ]
    begun = TrackEvent.TYPE_SLICE_BEGIN
    origin = int(training.told("lanes")["origin_ns"])
    events = kernels(library, training.report, stream["stream"], origin)
    starts = {packet.timestamp - origin for packet in whole.packet if packet.track_event.type == begun
              and packet.track_event.track_uuid == track}  # fmt: skip
    assert starts == {low for low, high in events if high >= 400_500_000 and low < 401_500_000}
