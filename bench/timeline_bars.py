"""Measure the timeline against its limits in a real server and a real browser: one number each, as a share of the
limit."""

from __future__ import annotations

import http.client
import json
import random
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Page

from bench.pages import open_page, run_server
from profiledb.library.library import Library
from profiledb.rules import classes
from profiledb.timeline import build, tiles
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import Timelines

LEVELS = 10
PEOPLE = 20
_PLACES = 3
_GROUPS = 6
"""Visible groups of lanes that are requested."""
_REPEAT = 5
_SEARCHES = (("gemm", "part"), ("cudaLaunchKernel", "exact"), ("a.*n", "pattern"))
_FRAMES = """() => new Promise((done) => {
  const at = [];
  const step = (now) => { at.push(now); window.__stop ? done(at) : requestAnimationFrame(step); };
  window.__stop = false;
  requestAnimationFrame(step);
})"""
_HOOK = "() => window.__warpdeck_timeline?.state().settled"


@dataclass(frozen=True)
class Bar:
    """A measured value and its limit, both in ``unit`` (ms, MB or %)."""

    what: str
    measured: float
    most: float
    unit: str


@dataclass(frozen=True)
class Prepared:
    """An imported report: environment of its server, library, id, kernels, processor seconds of the import."""

    env: Mapping[str, str]
    library: Path
    report_id: str
    kernels: int
    ingest_cpu_s: float


def time_ingest(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and the processor seconds of its ended child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_timeline_file(prepared: Prepared) -> list[Bar]:
    """Measure the additional cost of the timeline's file when a report is imported: processor time and bytes."""
    library = Library(prepared.library)
    report, target = (
        library.path(prepared.report_id),
        build.get_timeline_path(library.derived.timelines, prepared.report_id),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    build.build(report, target, target.with_suffix(".making"))
    spent = time.process_time() - began
    count = f"{prepared.kernels:,} kernels"
    return [
        Bar(f"added to ingest, {count}: processor time", 100 * spent / prepared.ingest_cpu_s, 10, "%"),
        Bar(f"added to ingest, {count}: bytes", 100 * target.stat().st_size / report.stat().st_size, 30, "%"),
    ]


def measure_bars(prepared: Prepared) -> Iterator[Bar]:
    """Measure all actions of one person on one report."""
    count = f"{prepared.kernels:,} kernels"
    shelf = Timelines(Library(prepared.library), classes.load())
    opened = shelf.wait(prepared.report_id)
    yield Bar(f"{count}: tile, cold, p95", _percentile_95(_measure_cold(prepared, opened)), 150, "ms")
    with run_server(prepared.env, {"address": "127.0.0.1"}) as running:
        asker = _Asker(running.address, prepared.report_id)
        for z, i, group in _choose_tiles(opened, 1):
            asker.time_tile(z, i, group)
        warm = [asker.time_tile(*place) for place in _choose_tiles(opened, _PLACES)]
        yield Bar(f"{count}: tile, warm, p95", _percentile_95(warm), 60, "ms")
        whole = {"from": opened.begin_ns, "to": opened.end_ns + 1}
        lanes = ",".join(str(lane.id) for lane in opened.lanes if lane.group is not None and lane.kind != "line")
        areas = [asker("area", whole | {"lanes": lanes}) for _ in range(_REPEAT)]
        yield Bar(f"{count}: area over everything, p95", _percentile_95(areas), 300, "ms")
        searches = [asker("search", {"q": text, "how": how}) for text, how in _SEARCHES for _ in range(_REPEAT)]
        yield Bar(f"{count}: search over all names, p95", _percentile_95(searches), 500, "ms")
        with open_page() as page:
            yield from _measure_in_browser(
                page, f"{running.address}/timeline?report={prepared.report_id}", count, opened.end_ns
            )


def measure_crowd(prepared: Prepared) -> Bar:
    """Measure twenty people who zoom at once."""
    opened = Timelines(Library(prepared.library), classes.load()).wait(prepared.report_id)
    with run_server(prepared.env, {"address": "127.0.0.1"}) as running, ThreadPoolExecutor(PEOPLE) as pool:

        def zoom_around(seed: int) -> list[float]:
            asker = _Asker(running.address, prepared.report_id)
            return [asker.time_tile(*place) for place in _choose_tiles(opened, 1, seed)[:: _GROUPS // 2]]

        zoom_around(PEOPLE)
        waits = [wait for own in pool.map(zoom_around, range(PEOPLE)) for wait in own]
    return Bar(
        f"{prepared.kernels:,} kernels: tile, {PEOPLE} people zooming at once, p95", _percentile_95(waits), 300, "ms"
    )


def format_table(bars: Sequence[Bar]) -> list[str]:
    """Return the results as a table; a share above 1 misses its limit."""
    lines = ["| timeline | measured | bar | share of the bar |", "|---|---:|---:|---:|"]
    for one in bars:
        share = f"{one.measured / one.most:.2f}"
        share_text = share if one.measured <= one.most else f"**{share}**"
        lines.append(f"| {one.what} | {one.measured:,.1f} {one.unit} | {one.most:g} {one.unit} | {share_text} |")
    return lines


class _Asker:
    """Asks a server over one connection, as a browser does, and returns the milliseconds of each answer."""

    def __init__(self, address: str, report_id: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        self._base = f"/_warpdeck/timeline/{report_id}/"
        while json.loads(self._get("lanes")).get("building"):
            time.sleep(0.2)

    def __call__(self, what: str, query: Mapping[str, Any]) -> float:
        began = time.perf_counter()
        self._get(f"{what}?{urlencode(query)}")
        return (time.perf_counter() - began) * 1e3

    def time_tile(self, z: int, i: int, group: int) -> float:
        return self("tile", {"g": group, "z": z, "i": i})

    def _get(self, path: str) -> bytes:
        self._connection.request("GET", self._base + path)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return body


def _choose_tiles(opened: Opened, places: int, seed: int = 0) -> list[tuple[int, int, int]]:
    """Yield level, number and group of tiles on ten levels, from everything to some microseconds, at random places."""
    rng = random.Random(seed)
    length = max(1, opened.end_ns)
    coarsest = max(2 * LEVELS, (length // tiles.BINS).bit_length())
    groups = list(opened.groups)[:_GROUPS]
    keys = []
    for z in range(coarsest, coarsest - 2 * LEVELS, -2):
        for _ in range(places):
            i = rng.randrange(max(1, length // (tiles.BINS << max(z, 0))))
            keys += [(max(z, 0), i, group) for group in groups]
    return keys


def _measure_cold(prepared: Prepared, opened: Opened) -> list[float]:
    """Return the milliseconds of tiles of all levels, each the first of its own connection."""
    waits = []
    for z, i, group in _choose_tiles(opened, 1)[::4]:
        fresh = Timelines(Library(prepared.library), classes.load())
        began = time.perf_counter()
        known = fresh.open(prepared.report_id)
        with fresh.cursor(prepared.report_id) as cursor:
            tiles.make_tile(cursor, known, [group], z, i)
        waits.append((time.perf_counter() - began) * 1e3)
    return waits


def _measure_in_browser(page: Page, address: str, count: str, end_ns: int) -> list[Bar]:
    """Measure the first picture, frames while dragging, and the heap after zooming through all levels."""
    page.goto(address)
    page.wait_for_function(_HOOK)
    firsts = []
    for _ in range(_REPEAT):
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_function(_HOOK)
        frames = page.evaluate("window.__warpdeck_timeline.frames()")
        firsts.append(next(one["at"] + one["ms"] for one in frames if one["items"]))
    box = page.locator("canvas.plot").bounding_box()
    assert box
    between: list[float] = []
    for share in (1.0, 1 / 16, 1 / 256, 1 / 4096):
        middle = end_ns / 2
        page.evaluate("([a, b]) => window.__warpdeck_timeline.go(a, b)",
                      [middle - share * end_ns / 3, middle + share * end_ns / 3])  # fmt: skip
        page.wait_for_function(_HOOK)
        between += _drag(page, box["x"] + box["width"] / 2, box["y"] + 60)
        page.wait_for_function(_HOOK)
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")
    heap_bytes = sum(float(heap.get(key, 0)) for key in ("usedSize", "embedderHeapUsedSize", "backingStorageSize"))
    return [
        Bar(f"{count}: page open to first picture, warm, median", sorted(firsts)[len(firsts) // 2], 1000, "ms"),
        Bar(f"{count}: from frame to frame while dragging, p95", _percentile_95(between), 33, "ms"),
        Bar(f"{count}: browser heap with buffers, after zooming", heap_bytes / 1e6, 300, "MB"),
    ]


def _drag(page: Page, x: float, y: float) -> list[float]:
    """Return the milliseconds between the browser's frames while the lanes are dragged to and fro."""
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(f"() => {{ window.__frames = ({_FRAMES})(); }}")
    for way in (-220, 220, -220):
        page.mouse.move(x + way, y, steps=20)
    page.mouse.up()
    at: list[float] = page.evaluate("async () => { window.__stop = true; return await window.__frames; }")
    return [later - now for now, later in pairwise(at)]


def _percentile_95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
