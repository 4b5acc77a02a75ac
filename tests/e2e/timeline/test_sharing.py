"""An address reproduces its sender's view, and hostile parts of it are ignored."""

import re

import pytest
from playwright.sync_api import expect

from profiledb.library.library import Library
from profiledb.library.marks import Mark
from tests.e2e.timeline.timeline_page import HOSTILE, TimelinePage, needed

pytestmark = needed


def test_an_address_shows_the_same_to_a_colleague(training: TimelinePage) -> None:
    training.open("&t0=390000000&t1=400000000")
    page = training.page
    stream = training.lane("stream")
    page.get_by_role("button", name=f"Pin {stream['title']}").click()
    page.get_by_role("button", name="Hide Idle time").click()
    page.get_by_role("button", name="Fold Ranges", exact=True).first.click()
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
        ("&t0=1e400&t1=<script>&area=9~3&in=-1.x&ev=99999.1&pin=4294967295&hide=a.b&fold=%00&mark=x~y&mark=5~<b>"
        "&with=..%2F..&with=%3Cb%3E&with=0123456789abcdef&align=<b>&shift=9.-.x"),
        "&t0=-99999999999999999999&t1=99999999999999999999&area=5~5&with=&align=hand&shift=" + "9" * 30,
    ],
)  # fmt: skip
def test_hostile_addresses_are_ignored(training: TimelinePage, query: str) -> None:
    said: list[str] = []
    training.page.on("pageerror", lambda error: said.append(str(error)))
    training.open(query)
    state = training.state
    assert state["t1"] - state["t0"] >= state["end"]
    assert (state["area"], state["chosen"], state["pinned"], state["hidden"]) == (None, None, [], [])
    assert state["shifts"] == [0]
    assert said == []


@pytest.mark.slow("opens documents of several people")
def test_marks_with_a_note_are_kept_for_everybody(training: TimelinePage, library: Library) -> None:
    """An editor's note is stored with the report and not in the address; a mark without a note is the reader's own."""
    training.open("&t0=400000000&t1=402000000&mark=400300000~from a link")
    page, press = training.page, training.page.keyboard.press
    training.plot.focus()
    press("m")
    training.until("s.marks.length === 2")
    expect(page.get_by_placeholder("Note").last).to_be_focused()
    page.keyboard.type(f"  here {HOSTILE} r c 0")
    press("Tab")
    training.until("s.stored.length === 1")
    assert library.catalog.marks.get(training.report) == [Mark(401_000_000, f"here {HOSTILE} r c 0")]
    expect(page).not_to_have_url(re.compile("here"))
    expect(page).to_have_url(re.compile("mark=400300000%7Efrom"))
    colleague = TimelinePage(page.context.new_page(), training.address, training.report).open()
    assert colleague.state["marks"] == [{"t": 401_000_000, "note": f"here {HOSTILE} r c 0"}]
    colleague.page.get_by_role("button", name="1 mark").click()
    expect(colleague.panel.get_by_text("kept with the report", exact=True)).to_be_visible()
    assert colleague.page.evaluate("window.ran") is None
    colleague.page.close()
    page.get_by_role("button", name="Remove this mark").last.click()
    training.until("s.stored.length === 0")
    expect(page.get_by_text("only in this address")).to_be_visible()
    page.get_by_role("button", name="Keep", exact=True).click()
    training.until("s.stored.length === 1 && s.stored[0].note === 'from a link'")
    page.wait_for_url(lambda url: "mark=" not in url)
    assert library.catalog.marks.get(training.report) == [Mark(400_300_000, "from a link")]
    library.catalog.marks.change(training.report, [Mark(400_300_000, "")])


@pytest.mark.slow("opens a second document")
def test_a_copied_link_shows_the_same_view(training: TimelinePage) -> None:
    training.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    training.open("&t0=400000000&t1=402000000").go(400_100_000, 400_900_000)
    training.page.get_by_role("button", name="Copy view").click()
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
    training.page.get_by_role("button", name="More").click()
    training.page.get_by_label("Times count from").select_option("absolute")
    training.page.keyboard.press("Escape")
    first = int(training.told("lanes")["origin_ns"]) + 400_500_000
    expect(head).to_contain_text(f"from {first // 10**9}.{first % 10**9:09}".rstrip("0"))
    expect(training.page).to_have_url(re.compile("times=absolute"))
    training.page.reload()
    training.settled()
    expect(head).to_contain_text(f"from {first // 10**9}.")
    training.plot.focus()
    training.page.keyboard.press("t")
    expect(head).to_have_text("1.00 ms from 400.5 ms to 401.5 ms")
