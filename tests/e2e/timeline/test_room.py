"""The timeline keeps its state, divides the window, and works by keys alone."""

import re

from playwright.sync_api import expect

from bench.pages import go_to, wait_at_rest
from profiledb.library.library import Library
from tests.e2e import house
from tests.e2e.timeline.timeline_page import TimelinePage, needed

pytestmark = needed
FURNITURE_PX = 84
"""Height of toolbar, minimap and axis: with a header of 96 px the first lane begins within 180 px."""
NAMES = """() => {
  const root = document.querySelector('canvas.plot') ?? [...document.querySelectorAll('*')]
    .map(one => one.shadowRoot?.querySelector('.tl')).find(Boolean);
  return [...root.getRootNode().querySelectorAll('button')].filter(one => /\\p{L}{2}/u.test(one.textContent))
    .map(one => [one.getAttribute('aria-label'), one.textContent]);
}"""
PARTS = """() => {
  const tl = [...document.querySelectorAll('*')].map(one => one.shadowRoot?.querySelector('.tl')).find(Boolean);
  const top = element => tl.querySelector(element).getBoundingClientRect();
  return {above: top('.scroll').top - tl.getBoundingClientRect().top, lanes: top('.scroll').height,
    panel: top('.panel').height, wide: top('.panel').width, whole: tl.clientWidth};
}"""


def leave(training: TimelinePage, path: str) -> None:
    """Turns to another page of the report as the menu does, within the document."""
    wait_at_rest(training.page, house.HEADING)
    go_to(training.page, f"{path}?report={training.report}")
    expect(training.plot).to_have_count(0)
    training.page.evaluate("() => delete window.__warpdeck_timeline")


def test_keys_alone_select_the_longest_gap(training: TimelinePage) -> None:
    """Two keys suffice on a fresh page; the tour's task takes at most fifteen."""
    training.open()
    steps = training.told("lanes")["steps"]
    first, last = (one for one in (steps[0], steps[-1]))
    gaps = training.told(f"area?from={first['start']}&to={last['end']}")["gaps"]
    training.page.keyboard.press("g")
    training.until(f"s.area?.from === {gaps[0]['start']} && s.area.to === {gaps[0]['end']}")
    expect(training.panel.get_by_role("button", name="Select this time")).to_be_visible()
    training.page.keyboard.press("u")
    training.until(f"s.selected?.from === {gaps[0]['start']} && s.selected.to === {gaps[0]['end']}")
    training.page.keyboard.press("Escape")
    training.until("!s.area")


def test_keys_move_without_a_click(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    training.page.keyboard.press("w")
    training.until("s.t1 - s.t0 < 1.9e6")


def test_the_wheel_scrolls_and_zooms_with_control(training: TimelinePage) -> None:
    training.open()
    page, span = training.page, training.state["t1"] - training.state["t0"]
    page.set_viewport_size({"width": 1440, "height": 600})
    training.settled().plot.hover(position={"x": 400, "y": 60})
    page.mouse.wheel(0, 200)
    training.until("s.scroll > 100")
    assert training.state["t1"] - training.state["t0"] == span
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    training.until(f"s.t1 - s.t0 < {span * 0.9}")


def test_the_view_is_kept_while_one_looks_at_another_page(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    stream = training.lane("stream")
    training.page.get_by_role("button", name=f"Pin {stream['title']}").click()
    training.settled().choose(stream["id"], training.longest(stream["id"]))
    training.page.wait_for_url(re.compile("ev=.*pin="))
    before = training.state
    leave(training, "/kernels")
    go_to(training.page, f"/timeline?report={training.report}")
    training.settled().until("s.chosen")
    after = training.state
    keys = ("t0", "t1", "pinned", "folded", "hidden")
    assert {key: after[key] for key in keys} == {key: before[key] for key in keys}
    assert after["chosen"]["ref"] == before["chosen"]["ref"]
    leave(training, "/kernels")
    go_to(training.page, f"/timeline?report={training.report}&t0=410000000&t1=411000000")
    training.settled()
    assert (training.state["t0"], training.state["pinned"]) == (410_000_000, [stream["id"]])


def test_the_lanes_have_the_room(training: TimelinePage) -> None:
    training.page.set_viewport_size({"width": 1440, "height": 900})
    training.open("&t0=400000000&t1=402000000")
    assert training.page.evaluate(PARTS)["above"] <= FURNITURE_PX
    training.page.keyboard.press("x")
    expect(training.panel.get_by_text("By lane")).to_be_visible()
    assert 100 < training.page.evaluate(PARTS)["panel"] <= 270
    splitter = training.page.get_by_role("separator", name="Size of the details")
    splitter.focus()
    splitter.press("ArrowUp")
    assert training.page.evaluate(PARTS)["panel"] > 270
    splitter.dblclick()
    training.panel.get_by_role("button", name="Details at the side").click()
    parts = training.page.evaluate(PARTS)
    assert parts["wide"] <= 0.3 * parts["whole"] + 1
    assert parts["lanes"] > 500
    training.plot.focus()
    training.page.keyboard.press("v")
    training.page.wait_for_function("() => document.fullscreenElement !== null")
    training.page.keyboard.press("v")
    training.page.wait_for_function("() => document.fullscreenElement === null")


def test_lanes_are_one_tab_stop_and_buttons_are_called_what_they_say(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000&area=400500000~401500000")
    expect(training.panel.get_by_text("By lane")).to_be_visible()
    named = training.page.evaluate(NAMES)
    assert len(named) > 8
    assert [text for label, text in named if label is not None] == []
    stops = training.page.locator(".titles button[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    first = stops.get_attribute("data-act")
    training.page.keyboard.press("ArrowDown")
    training.page.keyboard.press("ArrowDown")
    expect(stops).to_have_count(1)
    expect(stops).to_be_focused()
    assert stops.get_attribute("data-act") != first
    training.page.keyboard.press("ArrowUp")
    training.page.keyboard.press("ArrowUp")
    assert stops.get_attribute("data-act") == first


def test_an_idle_event_says_what_the_cpu_did(training: TimelinePage, library: Library) -> None:
    training.open("&t0=412700000&t1=414300000")
    idle = training.lane("idle")["id"]
    training.choose(idle, training.longest(idle))
    meanwhile = training.panel.locator("dt", has_text="CPU meanwhile")
    expect(meanwhile).to_be_visible()
    expect(training.panel.get_by_role("button", name="Select this time")).to_be_visible()
    expect(training.page.locator(".legend")).to_contain_text("non-CUDA code")


def test_ranges_have_colors_by_name_or_those_of_the_capture(training: TimelinePage) -> None:
    training.open()
    lane = training.lane("range")["id"]
    colors = {one["color"] for one in training.ask("items", lane)}
    training.page.get_by_role("button", name="More").click()
    training.page.get_by_label("Colors of ranges").select_option("capture")
    training.page.keyboard.press("Escape")
    training.settled()
    training.page.wait_for_function(
        "([lane, before]) => { const s = window.__warpdeck_timeline; return s.state().settled"
        " && s.items(lane).every(one => !before.includes(one.color)) }",
        arg=[lane, sorted(colors)],
    )
