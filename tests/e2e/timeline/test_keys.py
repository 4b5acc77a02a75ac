"""Every key, wheel, drag and finger works as documented."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.timeline.timeline_page import TimelinePage, needed

RUNS = """() => {
  window.runs = 0;
  const app = document.querySelector('[data-testid="stApp"]');
  new MutationObserver(() => {
    if (app.getAttribute('data-test-script-state') === 'running') window.runs += 1;
  }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""


pytestmark = needed


def test_a_click_opens_the_panel_and_follows_to_the_launch_and_back(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    stream = training.lane("stream")["id"]
    kernel = training.choose(stream, training.longest(stream))
    expect(training.panel.get_by_text("Launch delay")).to_be_visible()
    expect(training.panel.get_by_role("link", name="Kernel", exact=True)).to_have_attribute(
        "href", re.compile(rf"/kernel\?report={training.report}&kernel=\d+$")
    )
    whole = training.told(f"event?lane={stream}&ref={kernel['ref']}")
    for label, value in whole["rows"]:
        if label != "Name":
            expect(training.panel.locator("dt", has_text=label).first).to_be_visible()
        assert value
    training.page.keyboard.press("[")
    training.until(f"s.chosen.lane !== {stream}")
    assert training.state["chosen"]["name"].startswith("cudaLaunch")
    assert training.state["measured"], "the launch ends before the kernel begins"
    training.page.keyboard.press("]")
    training.until(f"s.chosen.lane === {stream} && s.chosen.ref === {kernel['ref']}")


def test_keys_that_move(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    page, press = training.page, training.page.keyboard.press
    training.plot.focus()
    span = "(s.t1 - s.t0)"
    press("w")
    training.until(f"{span} < 1.9e6")
    press("s")
    training.until(f"{span} > 1.9e6")
    press("d")
    training.until("s.t0 > 400.1e6")
    press("a")
    training.until("s.t0 < 400.1e6")
    press("0")
    training.until(f"{span} > s.end")
    page.wait_for_url(lambda url: "t0=" not in url)
    press("z")
    training.until(f"{span} < 3e6")


@pytest.mark.slow("a walk through the timeline")
def test_keys_that_choose(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    press = training.page.keyboard.press
    training.plot.focus()
    press("ArrowRight")
    training.until("s.chosen")
    first = training.state["chosen"]
    press("ArrowRight")
    training.until(f"s.chosen.start > {first['start']}")
    press("ArrowLeft")
    training.until(f"s.chosen.start === {first['start']}")
    press("ArrowDown")
    training.until(f"s.chosen.lane > {first['lane']}")
    lower = training.state["chosen"]
    press("ArrowUp")
    training.until(f"s.chosen.lane < {lower['lane']}")
    press("f")
    chosen = training.state["chosen"]
    training.until(f"s.t0 < {chosen['start']} && s.t1 > {chosen['end']}")
    press("x")
    training.until("s.area && !s.chosen")
    press("Escape")
    training.until("!s.area")


@pytest.mark.slow("a walk through the timeline")
def test_keys_that_search_tell_and_step(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    page, press = training.page, training.page.keyboard.press
    training.plot.focus()
    press("/")
    expect(page.get_by_role("searchbox", name="Search names of events")).to_be_focused()
    press("Escape")
    expect(training.plot).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog", name="Keys of the timeline")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog", name="Keys of the timeline")).to_be_hidden()
    steps = training.told("lanes")["steps"]
    assert [one["name"] for one in steps] == [f"step_{n}" for n in range(5)]
    later = [one for one in steps if one["start"] >= 400e6]
    press("e")
    training.until(f"s.area?.from === {later[0]['start']} && s.area.to === {later[0]['end']}")
    press("e")
    training.until(f"s.area?.from === {later[1]['start']}")
    press("q")
    training.until(f"s.area?.from === {later[0]['start']}")
    training.go(steps[0]["start"], steps[-1]["end"])
    axis = page.locator("canvas.axis")
    axis.click(position={"x": training.x((steps[2]["start"] + steps[2]["end"]) / 2), "y": 6})
    training.until(f"s.area?.from === {steps[2]['start']} && s.area.to === {steps[2]['end']}")


@pytest.mark.slow("a walk through the timeline")
def test_instances_of_a_name(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    stream = training.lane("stream")["id"]
    chosen = training.choose(stream, training.longest(stream))
    training.page.keyboard.press(".")
    training.until(f"s.chosen.start > {chosen['start']}")
    assert training.state["chosen"]["nameId"] == chosen["nameId"]
    training.page.keyboard.press(",")
    training.until(f"s.chosen.start === {chosen['start']}")
    training.panel.get_by_role("button", name="Slowest").click()
    training.until(f"s.chosen.end - s.chosen.start >= {chosen['end'] - chosen['start']}")
    slow = training.state["chosen"]
    training.panel.get_by_role("button", name="Fastest").click()
    training.until(f"s.chosen.end - s.chosen.start < {slow['end'] - slow['start']}")


@pytest.mark.slow("a walk through the timeline")
def test_each_press_is_a_step_however_soon_it_comes(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    stream = training.lane("stream")["id"]
    starts = [training.choose(stream, training.longest(stream))["start"]]
    for _ in range(3):
        training.page.keyboard.press("ArrowRight")
        training.until(f"s.chosen.start > {starts[-1]}")
        starts.append(training.state["chosen"]["start"])
    for back in range(3, 0, -1):
        training.page.keyboard.press("ArrowLeft")
        training.until(f"s.chosen.start === {starts[back - 1]}")
    for _ in range(3):
        training.page.keyboard.press("ArrowRight")
    training.until(f"s.chosen.start === {starts[3]}")


def test_moving_runs_no_script_and_comes_back(training: TimelinePage) -> None:
    training.open()
    page = training.page
    page.evaluate(RUNS)
    whole = training.state
    left = round(training.plot.evaluate("canvas => canvas.getBoundingClientRect().left"), 3)
    x, y = 700 - left % 1, training.y(training.lane("stream")["id"])  # a wheel tells whole pixels
    training.plot.hover(position={"x": x, "y": y})
    t = training.state["cursor"]
    page.keyboard.down("Control")
    for _ in range(12):
        page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    training.until(f"s.t1 - s.t0 < {(whole['t1'] - whole['t0']) / 20}")
    assert training.x(t) == pytest.approx(x, abs=2), "the time under the pointer stays there"
    before = training.settled().state
    training.drag(training.plot, 500, 300, y)
    training.until(f"s.t0 > {before['t0']}")
    moved = (training.state["t0"] - before["t0"]) / (before["t1"] - before["t0"]) * before["width"]
    assert moved == pytest.approx(200, abs=2)
    page.wait_for_url(lambda url: "t0=" in url)
    training.plot.focus()
    page.keyboard.press("z")
    training.until(f"Math.abs(s.t0 - {before['t0']}) < 1 || s.t1 - s.t0 > {before['t1'] - before['t0']}")
    assert page.evaluate("window.runs") == 0


@pytest.mark.slow("a walk through the timeline")
def test_two_fingers_zoom_where_they_are(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    box = training.plot.bounding_box()
    assert box
    session = training.page.context.new_cdp_session(training.page)
    y, middle = box["y"] + 60, box["x"] + box["width"] / 2

    def touch(kind: str, apart: float | None) -> None:
        points = [] if apart is None else [
            {"x": middle - apart, "y": y, "id": 0}, {"x": middle + apart, "y": y, "id": 1}
        ]  # fmt: skip
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 60)
    for apart in (80, 100, 120):
        touch("touchMove", apart)
    touch("touchEnd", None)
    training.until("s.t1 - s.t0 < 1.1e6")
    now = training.settled().state
    assert now["t1"] - now["t0"] == pytest.approx(1_000_000, rel=0.05)
    assert (now["t0"] + now["t1"]) / 2 == pytest.approx(401_000_000, abs=60_000)
