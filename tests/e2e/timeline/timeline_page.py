"""Read from the timeline where it draws things, and its state, for tests."""

from typing import Any

import duckdb
import pytest
from playwright.sync_api import Locator, Page, expect

from bench.pages import go_to, wait_at_rest
from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.e2e import house

needed = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (SAMPLES / "transformer_training.sqlite").exists(), reason="no sample reports here"),
]
"""The marks of every test in a browser."""
RANKS = ("ddp_weak_4_rank0", "ddp_weak_4_rank1")
HOSTILE = "<img src=x onerror=window.ran=1>**b** & gemm"
NOTHING = "0" * 16
LEVELS = 80
"""Ranges in ranges of the report that is called deep."""
NOWHERE = "/timeline?report=none"


class TimelinePage:
    """The page of one report, open in a browser.

    Args:
        page: the browser's page.
        address: that of the dashboard.
        report: the report's id.
    """

    def __init__(self, page: Page, address: str, report: str) -> None:
        self.page = page
        self.address = address
        self.report = report

    def open(self, query: str = "") -> "TimelinePage":
        """Opens it and waits until the picture is whole: within its document where the dashboard is open."""
        path = f"/timeline?report={self.report}{query}"
        if self.page.url.startswith(f"{self.address}/"):
            self._leave()
            go_to(self.page, path)
        else:
            self.page.goto(f"{self.address}{path}")
        return self.settled()

    def _leave(self) -> None:
        """Turn to a report that does not exist, so that the next timeline reads its address anew."""
        wait_at_rest(self.page, house.HEADING)
        self.page.mouse.move(0, 0)
        go_to(self.page, NOWHERE)
        expect(self.page.get_by_text("No report is called")).to_be_visible()
        expect(self.plot).to_have_count(0)
        self.page.evaluate("() => { delete window.__warpdeck_timeline; sessionStorage.clear(); }")

    def settled(self) -> "TimelinePage":
        """Waits until the picture shows all that there is for the window."""
        self.page.wait_for_function("() => window.__warpdeck_timeline?.state().settled", timeout=60_000)
        return self

    def ask(self, call: str, *values: Any) -> Any:
        """Return the answer of a function of the hook."""
        return self.page.evaluate("([call, values]) => window.__warpdeck_timeline[call](...values)", [call, values])

    @property
    def state(self) -> dict[str, Any]:
        """Where it stands."""
        found: dict[str, Any] = self.ask("state")
        return found

    def until(self, condition: str) -> None:
        """Waits until a condition on the state ``s`` holds."""
        self.page.wait_for_function(f"() => {{ const s = window.__warpdeck_timeline.state(); return {condition}; }}")

    def go(self, t0: float, t1: float) -> "TimelinePage":
        """Shows a window, ns."""
        self.ask("go", t0, t1)
        return self.settled()

    def lane(self, kind: str, title: str = "") -> dict[str, Any]:
        """The first lane of a kind, with this in its title."""
        found: dict[str, Any] = next(one for one in self.ask("lanes") if one["kind"] == kind and title in one["title"])
        return found

    @property
    def plot(self) -> Locator:
        """The lanes."""
        return self.page.locator("canvas.plot")

    @property
    def panel(self) -> Locator:
        """The panel below the lanes."""
        return self.page.locator(".panel")

    def x(self, t: float) -> float:
        """Where a time is, px from the left of the lanes."""
        now = self.state
        return float((t - now["t0"]) / (now["t1"] - now["t0"]) * now["width"])

    def y(self, lane: int, row: int = 0) -> float:
        """The middle of a row of a lane, px from the top of the lanes."""
        place = self.ask("place", lane)
        assert place, f"lane {lane} is not in sight"
        return float(place["y"] + 2 + (row + 0.5) * place["row"])

    def click(self, lane: int, t: float, row: int = 0) -> None:
        """Click on the event in a row of a lane at a time."""
        self.plot.click(position={"x": self.x(t), "y": self.y(lane, row)})

    def drag(self, on: Locator, x0: float, x1: float, y: float = 10) -> None:
        """Drags over an element from one place to another, px from its left."""
        on.hover(position={"x": x0, "y": y})
        box = on.bounding_box()
        assert box
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + x1, box["y"] + y, steps=4)
        self.page.mouse.up()

    def choose(self, lane: int, item: dict[str, Any]) -> dict[str, Any]:
        """Clicks an item and waits for its panel."""
        self.click(lane, (item["start"] + item["end"]) / 2, item["row"])
        self.until(f"s.chosen?.lane === {lane} && s.chosen.ref === {item['ref']}")
        expect(self.panel).to_be_visible()
        found: dict[str, Any] = self.state["chosen"]
        return found

    def longest(self, lane: int) -> dict[str, Any]:
        """The longest event of a lane in the window, whole in sight."""
        now = self.state
        items = [one for one in self.ask("items", lane) if one["count"] == 1]
        whole = [one for one in items if one["start"] >= now["t0"] and one["end"] <= now["t1"]]
        return max(whole, key=lambda one: float(one["end"] - one["start"]))

    def told(self, what: str) -> Any:
        """Return the server's answer."""
        url = f"{self.address}/_warpdeck/timeline/{self.report}/{what}"
        return self.page.request.get(url).json()


def kernels(library: Library, report: str, stream: int, origin: int) -> list[tuple[int, int]]:
    """The kernels, copies and sets of a stream: start and end, ns from the origin, in the order of time."""
    query = (
        "SELECT start_ns - ?, end_ns - ? FROM (SELECT start_ns, end_ns, stream_id FROM kernel UNION ALL"
        " SELECT start_ns, end_ns, stream_id FROM memop) WHERE stream_id = ? ORDER BY ALL"
    )
    with duckdb.connect(str(library.path(report)), read_only=True) as db:
        return [(int(a), int(b)) for a, b in db.execute(query, [origin, origin, stream]).fetchall()]


def at(page: Page, address: str, library: Library, name: str) -> "TimelinePage":
    """The timeline of the report that was taken in from a file of this name."""
    return TimelinePage(page, address, library.find(f"{name}.sqlite").id)


def saved(timeline: TimelinePage, button: str) -> tuple[str, bytes]:
    """The name and the bytes of the file that a button saves."""
    with timeline.page.expect_download() as found:
        timeline.page.get_by_role("button", name=button).click()
    return found.value.suggested_filename, found.value.path().read_bytes()
