"""The routes of the timeline: answers, refusals, and caching by browsers."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from starlette.applications import Starlette

from app.timeline import routes
from app.web import login_middleware
from app.web.roles import Standing
from profiledb.errors import BusyError
from profiledb.timeline import lanes
from tests.support.timelines import NAMES, REPORT, TIDS, calls, joined, kernels, library, report_row

HOSTILE = "<script>alert(1)</script>\u202eevil\n'\"; DROP TABLE kernel; --"
EMPTY, ONE, LONG, DAMAGED = "e" * 16, "1" * 16, "a" * 16, "d" * 16


class Door:
    """Asks the routes as a browser does, without a network."""

    def get(self, way: str, headers: dict[str, str] | None = None) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=Starlette(routes=routes.build_routes()))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.get(way, headers=headers)

        routes._get_pool.cache_clear()  # its tasks belong to another loop
        return asyncio.run(ask())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    hostile = {**NAMES["kernel_name"], "short": [HOSTILE] * 8, "demangled": [HOSTILE] * 8}
    usual = NAMES | {
        "report": report_row(0, 10_000), "kernel": kernels([100, 300, 300], [200, 300, 900]),
        "api_call": calls([50, 60, 70], [60, 70, 80], TIDS[0]),
    }  # fmt: skip
    library(folder / "library", usual)
    library(folder / "library", {"report": report_row(0, 0)}, EMPTY)
    library(folder / "library", {"kernel": kernels([5], [9]), "kernel_name": hostile}, ONE)
    many = range(10_000)
    library(folder / "library", NAMES | {"report": report_row(0, 20_000), "api_call": calls(many, many, TIDS[0])}, LONG)
    library(folder / "library", usual, DAMAGED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPDECK_DATA", str(folder))
        routes.get_timelines.cache_clear()
        for report in (REPORT, EMPTY, ONE, LONG, DAMAGED):
            routes.get_timelines().wait(report)
        yield Door()
    routes.get_timelines.cache_clear()


def get(client: Door, way: str, report: str = REPORT) -> Any:
    answer = client.get(f"/_warpdeck/timeline/{report}/{way}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_lanes_stand_in_a_tree(client: Door) -> None:
    answer = get(client, "lanes")
    kinds = [(lane["kind"], lane["parent"]) for lane in answer["lanes"]]
    assert kinds == [
        ("path", None),
        ("gpu", None),
        ("stream", 1),
        ("process", None),
        ("thread", 3),
        ("api", 4),
    ]
    stream = answer["lanes"][2]
    assert (stream["events"], stream["busy_ns"], stream["title"]) == (3, 700, "Stream 7")
    assert len({one["name"] for one in answer["classes"]}) == len(answer["classes"])


def test_a_tile_may_be_kept_and_nothing_else(client: Door) -> None:
    way = f"/_warpdeck/timeline/{REPORT}/tile?g=0&z=4&i=0"
    tile = client.get(way)
    assert tile.headers["cache-control"] == "private, max-age=86400, immutable"
    again = client.get(way, headers={"If-None-Match": tile.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"/_warpdeck/timeline/{REPORT}/lanes").headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize(
    "way",
    [
        "tile", "tile?g=0&z=4", "tile?g=0&z=x&i=0", "tile?g=0&z=53&i=0", "tile?g=0&z=-1&i=0", "tile?g=99&z=1&i=0",
        "tile?g=0&z=4&i=99999999999999999999999", "tile?g=0;DROP TABLE lane&z=1&i=0", "tile?g=0&z=1&i=1e3",
        "tile?g=0&z=1&i=%D9%A3", "names?ids=1,,x", "names?ids=" + "1," * 600, "event?lane=1&ref=4",
        "event?lane=2&ref=77777", "event?lane=99&ref=1", "event?lane=-1&ref=1", "near?lane=2&t=0&dir=up",
        "near?by=best&name=4", "area?from=5&to=5&lanes=2", "trace?from=5&to=5", "trace?from=5",
        "area?from=0&to=9&lanes=1",
        "area?from=0&to=9&lanes=" + "1," * 5000 + "1", "search?q=&how=part", "search?q=(&how=pattern",
        "search?q=x&how=like",
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(client: Door, way: str) -> None:
    answer = client.get(f"/_warpdeck/timeline/{REPORT}/{way}")
    assert answer.status_code in (400, 414)
    assert answer.json()["error"].endswith(".")
    assert answer.headers["cache-control"] == "no-store"


def test_a_trace_is_a_file_of_what_lies_in_a_time(client: Door) -> None:
    answer = client.get(f"/_warpdeck/timeline/{REPORT}/trace?from=-1000000000&to=1000000000000")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="timeline.pftrace"'
    assert answer.headers["cache-control"] == "no-store"
    whole = Trace()
    whole.ParseFromString(answer.content)
    begun = sum(packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN for packet in whole.packet)
    tree = client.get(f"/_warpdeck/timeline/{REPORT}/lanes").json()
    assert begun == sum(lane["events"] for lane in tree["lanes"])


@pytest.mark.parametrize("report", ["0" * 16, "x", "..", "%2e%2e", "0123456789ABCDEF", "0123456789abcdef.v2"])
def test_no_such_report(client: Door, report: str) -> None:
    assert client.get(f"/_warpdeck/timeline/{report}/lanes").status_code == 404


def test_tiles_as_far_as_numbers_go(client: Door) -> None:
    for z in (0, 30, 52):
        for i in (-(2**53), -1, 0, 2**53):
            assert client.get(f"/_warpdeck/timeline/{REPORT}/tile?g=0&z={z}&i={i}").status_code == 200


def test_a_report_of_nothing_and_one_of_one_event(client: Door) -> None:
    assert get(client, "lanes", EMPTY)["lanes"] == []
    assert get(client, "search?q=x", EMPTY)["hits"] == 0
    lanes = get(client, "lanes", ONE)["lanes"]
    assert [lane["events"] for lane in lanes] == [0, 1]
    found = get(client, "near?lane=1&t=-1&dir=next", ONE)
    assert found is not None
    told = get(client, f"event?lane=1&ref={found['ref']}", ONE)
    assert told["end"] - told["start"] == 4
    assert json.dumps(told)  # a name is a text like any other
    assert get(client, f"names?ids={found['name']}", ONE)[str(found["name"])].startswith("<script>")


@pytest.mark.parametrize(
    "threads", [500, pytest.param(10_000, marks=pytest.mark.slow("prepares a timeline of ten thousand threads"))]
)
def test_many_threads(client: Door, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Each has two lanes and their process has one: one lane more than there may be."""
    assert 2 * threads <= lanes.LANES
    monkeypatch.setattr(lanes, "LANES", 2 * threads)
    spread = joined(*(calls([n], [n + 5], (1 << 24) + n + 1, n) for n in range(threads)))
    report, shelf = f"{threads:016x}", routes.get_timelines()
    library(shelf._library.folder, NAMES | {"report": report_row(0, 20_000), "api_call": spread}, report)
    shelf.wait(report)
    answer = get(client, "lanes", report)
    assert len(answer["lanes"]) <= 2 * threads
    shown = sum(lane["kind"] == "api" for lane in answer["lanes"])
    assert 2 * shown + answer["left_out"] + 1 == 2 * threads + 1
    groups = {lane["group"] for lane in answer["lanes"] if lane["kind"] == "api"}
    assert max(sum(lane["group"] == group for lane in answer["lanes"]) for group in sorted(groups)[:5]) <= 32


def test_a_damaged_timeline_is_made_anew(client: Door) -> None:
    shelf = routes.get_timelines()
    file = next(path for path in shelf._library.derived.timelines.glob(f"{DAMAGED}.*"))
    whole = get(client, "lanes", DAMAGED)["lanes"]
    file.write_bytes(file.read_bytes()[:4096] + bytes(4096))
    assert client.get(f"/_warpdeck/timeline/{DAMAGED}/lanes").status_code in (200, 202)
    shelf.wait(DAMAGED)
    assert get(client, "lanes", DAMAGED)["lanes"] == whole


def test_whoever_leaves_takes_the_query_along(client: Door) -> None:
    """A query ends at once when its client disconnects."""

    async def leave() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        scope = {
            "type": "http", "method": "GET", "path": f"/_warpdeck/timeline/{LONG}/search", "headers": [],
            "query_string": b"q=cuda", "root_path": "", "http_version": "1.1", "scheme": "http",
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await asyncio.wait_for(Starlette(routes=routes.build_routes())(scope, receive, send), 60)
        return sent

    routes._get_pool.cache_clear()  # its tasks belong to another loop
    messages = asyncio.run(leave())
    routes._get_pool.cache_clear()
    assert messages[0]["status"] == 499


def test_viewers_and_guests_may_ask_and_nobody_else() -> None:
    for way in ("lanes", "tile", "search"):
        assert login_middleware.get_required_standing("GET", f"/_warpdeck/timeline/{REPORT}/{way}") == Standing.GUEST
        assert login_middleware.get_required_standing("POST", f"/_warpdeck/timeline/{REPORT}/{way}") == Standing.EDITOR


def test_the_timeline_goes_with_its_report(tmp_path: Path) -> None:
    from tests.support.timelines import timelines

    shelf = library(tmp_path, {"kernel": kernels([5], [9])} | NAMES)
    timelines(shelf).wait(REPORT)
    assert len(list(shelf.derived.timelines.glob("*"))) == 1
    shelf.delete(REPORT)
    assert list(shelf.reports.iterdir()) == []


def test_whoever_asks_too_much_is_told_when_to_come_back() -> None:
    refused = routes._answer_error(REPORT, BusyError("Three of your requests are being answered.", again_s=7))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
