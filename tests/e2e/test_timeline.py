"""The timeline in a real browser: what is drawn is what the report holds, and every key and click does what it says."""

import io
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Literal

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from PIL import Image
from playwright.sync_api import Page, expect

from bench.pages import dashboard
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import ROOT, SAMPLES
from tests.e2e.test_accessibility import broken
from tests.e2e.timeline_page import TimelinePage, kernels

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (SAMPLES / "transformer_training.sqlite").exists(), reason="no sample reports here"),
]
NAMES = ("transformer_training", "idle_host_bound", "streams_overlapped")
HOSTILE = "<img src=x onerror=window.ran=1>**b** & gemm"
NOTHING = "0" * 16
RUNS = """() => {
  window.runs = 0;
  const app = document.querySelector('[data-testid="stApp"]');
  new MutationObserver(() => {
    if (app.getAttribute('data-test-script-state') === 'running') window.runs += 1;
  }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Three samples, in one of which the kernel that takes most has markup as its name, and a report of nothing."""
    folder = tmp_path_factory.mktemp("timeline")
    inbox = folder / "inbox"
    inbox.mkdir()
    for name in NAMES:
        shutil.copy(SAMPLES / f"{name}.sqlite", inbox)
    with closing(sqlite3.connect(inbox / "idle_host_bound.sqlite")) as db, db:
        top = "SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY sum(end - start) DESC LIMIT 1"
        db.execute("UPDATE StringIds SET value = ? WHERE id = ?", (HOSTILE, db.execute(top).fetchone()[0]))
    environment = os.environ | {"WARPDECK_DATA": str(folder), "WARPDECK_SAMPLES": "off"}
    subprocess.run([sys.executable, "-m", "ingest", "--once"], cwd=ROOT, env=environment, check=True, timeout=250)
    library = Library(folder / "library")
    with store.create(folder / "library" / "nothing.duckdb") as made:
        made.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 1000, 1000)")
    library.publish(
        folder / "library" / "nothing.duckdb", Manifest(NOTHING, SCHEMA_VERSION, "nothing", "nsys", NOTHING, 1)
    )
    return library


@pytest.fixture(scope="module")
def address(library: Library) -> Iterator[str]:
    settings = {"WARPDECK_DATA": str(library.folder.parent), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    with dashboard(settings) as running:
        yield running


def at(page: Page, address: str, library: Library, name: str) -> TimelinePage:
    return TimelinePage(page, address, library.find(f"{name}.sqlite").id)


@pytest.fixture
def training(page: Page, address: str, library: Library) -> TimelinePage:
    return at(page, address, library, "transformer_training")


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
        for x in range(5, now["width"] - 5, 3):
            low, high = now["t0"] + (x - 2.5) * per_px, now["t0"] + (x + 3.5) * per_px
            inside = [one for one in events if one[1] >= low and one[0] <= high]
            under = training.ask("under", x + 0.5, y)
            pixel = training.ask("pixel", x + 0.5, y - 7)  # above the names
            if not inside:
                assert pixel not in drawn, (span, x)
                assert under is None
            elif len(inside) == 1 and inside[0][0] < low and inside[0][1] > high:
                assert (under["start"], under["end"]) == inside[0]
                color = colors[under["color"]]
                assert pixel == [int(color[k : k + 2], 16) for k in (1, 3, 5)], (span, x)
                looked += 1
    assert looked > 50


def test_events_of_the_whole_capture_are_counted_once(training: TimelinePage, library: Library) -> None:
    training.open()
    for lane in training.ask("lanes"):
        if lane["kind"] not in ("stream", "api"):
            continue
        assert sum(one["count"] for one in training.ask("items", lane["id"])) == lane["events"]


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


def test_keys_that_mark_search_and_tell(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    page, press = training.page, training.page.keyboard.press
    training.plot.focus()
    press("m")
    training.until("s.marks.length === 1")
    expect(page.get_by_placeholder("Note")).to_be_focused()
    page.keyboard.type("here r c 0")
    training.until("s.marks[0].note === 'here r c 0'")
    training.plot.focus()
    press("Escape")
    press("/")
    expect(page.get_by_role("searchbox", name="Search names of events")).to_be_focused()
    press("Escape")
    expect(training.plot).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog", name="Keys of the timeline")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog", name="Keys of the timeline")).to_be_hidden()


def test_instances_of_a_name(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000")
    stream = training.lane("stream")["id"]
    chosen = training.choose(stream, training.longest(stream))
    training.page.keyboard.press(".")
    training.until(f"s.chosen.start > {chosen['start']}")
    assert training.state["chosen"]["nameId"] == chosen["nameId"]
    training.page.keyboard.press(",")
    training.until(f"s.chosen.start === {chosen['start']}")
    training.panel.get_by_role("button", name="Slowest instance").click()
    training.until(f"s.chosen.end - s.chosen.start >= {chosen['end'] - chosen['start']}")
    slow = training.state["chosen"]
    training.panel.get_by_role("button", name="Fastest instance").click()
    training.until(f"s.chosen.end - s.chosen.start < {slow['end'] - slow['start']}")


def test_moving_runs_no_script_and_comes_back(training: TimelinePage) -> None:
    training.open()
    page = training.page
    page.evaluate(RUNS)
    whole = training.state
    left = round(training.plot.evaluate("canvas => canvas.getBoundingClientRect().left"), 3)
    x, y = 700 - left % 1, training.y(training.lane("stream")["id"])  # a wheel tells whole pixels
    training.plot.hover(position={"x": x, "y": y})
    t = training.state["cursor"]
    for _ in range(12):
        page.mouse.wheel(0, -300)
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
    training.panel.get_by_role("button", name="Show this time on all pages").click()
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


def test_an_address_shows_the_same_to_a_colleague(training: TimelinePage) -> None:
    training.open("&t0=390000000&t1=400000000")
    page = training.page
    stream = training.lane("stream")
    page.get_by_role("button", name=f"Pin to the top: {stream['title']}").click()
    page.get_by_role("button", name="Hide Idle time").click()
    page.get_by_role("button", name="Fold NVTX ranges").first.click()
    training.settled().choose(stream["id"], training.longest(stream["id"]))
    page.wait_for_url(re.compile("ev="))
    keys = ("t0", "t1", "pinned", "hidden", "folded")
    before = training.state
    page.reload()
    training.settled()
    training.until("s.chosen")
    after = training.state
    assert {key: after[key] for key in keys} == {key: before[key] for key in keys}
    assert after["chosen"]["ref"] == before["chosen"]["ref"]
    assert before["pinned"] == [stream["id"]]


@pytest.mark.parametrize(
    "query",
    [
        "&t0=1e400&t1=<script>", "&t0=5&t1=5", "&t0=-99999999999999999999&t1=99999999999999999999", "&area=9~3&in=-1.x",
        "&ev=99999.1&pin=4294967295&hide=a.b&fold=%00&mark=x~y&mark=5~<b>",
    ],
)  # fmt: skip
def test_hostile_addresses_are_ignored(training: TimelinePage, query: str) -> None:
    said: list[str] = []
    training.page.on("pageerror", lambda error: said.append(str(error)))
    training.open(query)
    state = training.state
    assert state["t1"] - state["t0"] >= state["end"]
    assert (state["area"], state["chosen"], state["pinned"], state["hidden"]) == (None, None, [], [])
    assert said == []


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
    assert page.evaluate("window.ran") is None


def test_streams_that_overlap_are_lanes_of_their_own(page: Page, address: str, library: Library) -> None:
    timeline = at(page, address, library, "streams_overlapped").open()
    streams = [one for one in timeline.ask("lanes") if one["kind"] == "stream"]
    assert len(streams) == 4
    for lane in streams:
        events = kernels(library, timeline.report, lane["stream"], int(timeline.told("lanes")["origin_ns"]))
        drawn = [(one["start"], one["end"]) for one in timeline.ask("items", lane["id"]) if one["count"] == 1]
        assert set(drawn) <= set(events)
        assert sum(one["count"] for one in timeline.ask("items", lane["id"])) == len(events)


def test_a_report_of_nothing_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}/timeline?report={NOTHING}")
    expect(page.get_by_text("no events to draw over time")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
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


def saved(training: TimelinePage, button: str) -> tuple[str, bytes]:
    """The name and the bytes of the file that a button saves."""
    with training.page.expect_download() as found:
        training.page.get_by_role("button", name=button).click()
    return found.value.suggested_filename, found.value.path().read_bytes()


def test_the_picture_and_the_trace_of_an_area_are_saved(training: TimelinePage, library: Library) -> None:
    training.open("&t0=400000000&t1=402000000&area=400500000~401500000")
    name, picture = saved(training, "Save the picture as PNG")
    assert name == "transformer_training.sqlite.timeline.png"
    with Image.open(io.BytesIO(picture)) as drawn:
        assert drawn.width > training.state["width"]
        assert len(set(drawn.convert("RGB").tobytes())) > 20
    name, data = saved(training, "Save this time as a trace for ui.perfetto.dev")
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


def test_a_copied_link_shows_the_same_view(training: TimelinePage) -> None:
    training.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    training.open("&t0=400000000&t1=402000000").go(400_100_000, 400_900_000)
    training.page.get_by_role("button", name="Copy a link to this view").click()
    expect(training.page.get_by_text("Link copied.")).to_be_visible()
    copied = training.page.evaluate("navigator.clipboard.readText()")
    assert "t0=400100000&t1=400900000" in copied
    training.page.goto(copied)
    now = training.settled().state
    assert (now["t0"], now["t1"]) == (400_100_000, 400_900_000)


def test_times_count_from_the_selection_or_absolutely(training: TimelinePage) -> None:
    training.open("&t0=400000000&t1=402000000&area=400500000~401500000")
    head = training.panel.locator(".panel-head b")
    expect(head).to_have_text("1.00 ms from 400.5 ms to 401.5 ms")
    training.plot.focus()
    training.page.keyboard.press("t")
    expect(head).to_have_text("1.00 ms from 0 ns to 1 ms")
    training.page.get_by_role("button", name="From when times count").click()
    first = int(training.told("lanes")["origin_ns"]) + 400_500_000
    expect(head).to_contain_text(f"from {first // 10**9}.{first % 10**9:09}".rstrip("0"))
    expect(training.page).to_have_url(re.compile("times=absolute"))
    training.page.reload()
    training.settled()
    expect(head).to_contain_text(f"from {first // 10**9}.")
    training.plot.focus()
    training.page.keyboard.press("t")
    expect(head).to_have_text("1.00 ms from 400.5 ms to 401.5 ms")


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
