"""Measure the timeline: `python -m bench.timeline_data LIBRARY REPORT`.

Print the processor seconds and bytes of the timeline's file against the report's, then for each zoom the median and the
95th percentile of tiles at random places: cold (a new connection) and warm, wall and processor milliseconds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

from profiledb.library.library import Library
from profiledb.rules import classes
from profiledb.timeline import area, build, search, tiles
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import Timelines

ZOOMS = 10


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.timeline_data", description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("report")
    parser.add_argument("--repeat", type=int, default=15)
    chosen = parser.parse_args(arguments)
    library = Library(chosen.library)
    report = library.path(chosen.report)
    target = build.get_timeline_path(library.derived.timelines, chosen.report)
    before, began = time.process_time(), time.monotonic()
    build.build(report, target, target.with_suffix(".making"))
    spent = time.process_time() - before
    print(
        f"file: {spent:.2f} CPU s, {time.monotonic() - began:.2f} s, {target.stat().st_size / 1e6:.1f} MB,"
        f" {100 * target.stat().st_size / report.stat().st_size:.0f} % of the report"
    )
    shelf = Timelines(library, classes.load())
    opened = shelf.wait(chosen.report)
    _measure_tiles(library, shelf, opened, chosen.repeat)
    lanes = [lane.id for lane in opened.lanes if lane.group is not None]
    everything = (opened.begin_ns, opened.end_ns + 1, lanes)
    with shelf.cursor(chosen.report) as cursor:
        _format_row(
            "area, everything", [_time_call(lambda: area.measure_area(cursor, opened, *everything)) for _ in range(5)]
        )
        for text, how in (("gemm", "part"), ("cudaLaunchKernel", "exact"), ("a.*n", "pattern")):
            taken = [_time_call(lambda: search.search_names(cursor, opened, text, how)) for _ in range(5)]  # noqa: B023
            _format_row(f"search, {how}", taken)


def _measure_tiles(library: Library, shelf: Timelines, opened: Opened, repeat: int) -> None:
    rng = random.Random(0)
    groups = list(opened.groups)[:6]
    length = opened.end_ns - opened.begin_ns
    coarsest = max(ZOOMS, (length // tiles.BINS).bit_length())
    for z in range(coarsest, coarsest - 2 * ZOOMS, -2):
        last = max(1, length // (tiles.BINS << max(z, 0)))
        places = [rng.randrange(last) for _ in range(repeat)]
        cold = []
        for i in places[: max(3, repeat // 3)]:
            fresh = Timelines(library, classes.load())
            fresh.wait(opened.report_id)
            with fresh.cursor(opened.report_id) as cursor:
                cold.append(_time_call(lambda: tiles.make_tile(cursor, opened, groups, max(z, 0), i)))  # noqa: B023
        with shelf.cursor(opened.report_id) as cursor:
            warm = [_time_call(lambda: tiles.make_tile(cursor, opened, groups, max(z, 0), i)) for i in places]  # noqa: B023
        _format_row(f"tile 2^{max(z, 0)} cold", cold)
        _format_row(f"tile 2^{max(z, 0)} warm", warm)


def _time_call(call: Callable[[], object]) -> tuple[float, float]:
    """Return the wall and processor milliseconds of a call."""
    wall, spent = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - spent) * 1e3


def _format_row(name: str, taken: list[tuple[float, float]]) -> None:
    wall, spent = (sorted(column) for column in zip(*taken, strict=True))
    high = min(len(wall) - 1, round(0.95 * len(wall)))
    print(
        f"{name:22} p50 {wall[len(wall) // 2]:7.1f} ms  p95 {wall[high]:7.1f} ms"
        f"   CPU p50 {spent[len(spent) // 2]:7.1f} ms  p95 {spent[high]:7.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
