"""What pages ask of a report before anybody has chosen anything, worked out before anybody asks.

``python -m profiledb.studies.prefetch LIBRARY ID...`` has these answers kept (query/answer_store.py), with what the
machine has
left over, and then the summaries of all reports that have none (trends/summary_refresh.py). A test holds the list:
the pages
of a report that was prepared work out nothing.
"""

import logging
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import duckdb
import pandas as pd

from profiledb import config, priority
from profiledb.errors import WarpdeckError
from profiledb.findings import digest, judge, rulebook
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.query import header, request
from profiledb.query.analysis import rows_or_none
from profiledb.query.answer_cache import Answers
from profiledb.rules import classes
from profiledb.selection import model
from profiledb.studies.summary import answers as summary
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.series_board import Board
from profiledb.timeline.store import BuildingError, Timelines

_log = logging.getLogger("warpdeck")
TREE_BOXES = 500
"""Paths of ranges that the icicle draws at most."""
TREE_ROWS = 300
"""Rows of the tree of ranges that a reader may still scroll."""
OPERATOR_ROWS = 1000
"""Operators, or shapes of them, of a table."""
TREE_FEW = 60
"""The tree opens at the deepest level at which it has no more rows than this."""
PHASE_TOP = 12
"""Kernels of a phase that are told."""

Asked = tuple[str, dict[str, Any]]
WHOLE: tuple[Asked, ...] = (
    ("devices", {}), ("attention_parts", {}), ("selection_summary", {}), ("gpu_busy", {}), ("detected_iterations", {}),
    ("tensor_growth", {"warmup": "exclude"}), ("tensor_steps", {"warmup": "exclude"}),
)  # fmt: skip
"""Asked of the whole report, the warm-up included where nothing else is said."""
PART: tuple[Asked, ...] = (
    ("attribution", {}), ("selection_summary", {}), ("idle_reasons", {}), ("idle_code", {}), ("class_split", {}),
    ("kernels", {"limit": 1}), ("copy_kinds", {}), ("iterations", {"rank": 1}), ("diagnostics", {}), ("gpu_busy", {}),
    ("busy_timeline", {}), ("kernels", {}), ("memory_copies", {}), ("range_summary", {}), ("report_facts", {}),
    ("api_calls", {}), ("launch_times", {}), ("gpu_metrics", {}), ("gpu_metrics_over_time", {}),
    ("matmul_split", {}), ("phase_split", {}), ("top_kernels", {"limit": PHASE_TOP}),
    ("top_kernels", {"limit": PHASE_TOP, "phase": "forward,backward"}), ("mfu", {}),
    ("copies", {}), ("copy_sizes", {}), ("memory_use", {}), ("memory_over_time", {}),
    ("tensor_memory", {}), ("tensor_over_time", {}), ("tensor_peak", {}), ("tensor_allocations", {}),
    ("tensor_lifetimes", {}), ("tensor_tree", {}), ("tensor_fragmentation", {}), ("tensor_segments", {}),
    ("api_categories", {}), ("osrt_calls", {}),
    ("host_threads", {}), ("osrt_threads", {}), ("launch_sites", {}), ("openmp_regions", {}),
    ("cpu_tree", {}), ("cpu_functions", {}), ("cpu_functions", {"moments": "idle"}), ("cpu_modules", {}),
    ("cpu_tree", {"source": "python"}), ("cpu_functions", {"source": "python"}), ("cpu_modules", {"source": "python"}),
    ("cpu_functions", {"source": "python", "moments": "idle"}),
    ("operator_facts", {}), ("operators", {"limit": OPERATOR_ROWS}),
    ("kernel_operators", {}), ("range_facts", {}), ("iteration_summary", {}), ("iteration_summary", {"by": "gpu"}),
)  # fmt: skip
"""Asked of what pages show by default: without the warm-up, where the report has one."""


OF_STEADY: tuple[Asked, ...] = (
    ("gpu_busy", {}), ("idle_reasons", {}), ("idle_ranges", {}), ("idle_code", {}), ("class_split", {}),
    ("kernels", {"limit": 1}), ("kernels", {}), ("copies", {}), ("memory_copies", {}), ("range_summary", {}),
    ("time_split", {}),
)  # fmt: skip
"""Asked of the steady part, where the report has one."""


def prepare(library: Library, report_id: str) -> None:
    """Has all of these answers of a timeline kept; what the report lacks is left out."""
    answers = Answers()

    def whole(name: str, **params: Any) -> pd.DataFrame:
        return answers.answer(library, request.build(library, report_id, name, params))

    paths = rows_or_none(whole, "range_paths")
    usual = model.to_params(model.default_selection(warmup=len(paths) > 0 and bool(paths["is_warmup"].any())))

    def part(name: str, **params: Any) -> pd.DataFrame:
        return whole(name, **header.get(name).taken(usual) | params)

    for ask, listed in ((whole, WHOLE), (part, PART)):
        for name, params in listed:
            with suppress(WarpdeckError):
                ask(name, **params)
    with suppress(WarpdeckError):
        _ranges(part)
    with suppress(WarpdeckError):
        report = library.find(report_id)
        rules = rulebook.load(config.load().rules)
        params = usual if TIMELINE in report.subjects else {}
        steady = judge.steady_part(library, report, params)
        found = judge.judge(library, report, params, rules.values(), steady)
        digest.write(library, report_id, rules, found)
        for name, given in OF_STEADY if steady else ():
            with suppress(WarpdeckError):
                part(name, **summary.steady_params(steady, name), **given)


def timeline(library: Library, report_id: str) -> None:
    """Makes the file that the timeline of a report is drawn from; none where the report holds no events."""
    if TIMELINE not in library.find(report_id).subjects:
        return
    settings = config.load()
    try:
        Timelines(library, classes.load(settings.classes), settings.memory_limit).wait(report_id)
    except (BuildingError, duckdb.Error, OSError):
        _log.warning("The timeline of %s could not be made yet", report_id, exc_info=True)


def _ranges(part: Any) -> None:
    """What the page of ranges asks, which goes by the tree."""
    top = part("nvtx_tree", limit=TREE_BOXES)
    if top.empty:
        return
    depth = opens_at(top)
    part("nvtx_tree", limit=TREE_ROWS, **({"depth": depth} if depth else {}))
    path = outermost(top)
    for name in ("nvtx_tree", "range_spread", "range_instances"):
        part(name, path=path)
    for name in ("kernels", "class_split"):
        with suppress(WarpdeckError):
            part(name, range=path, skip_first=0)


def levels(top: pd.DataFrame) -> list[int]:
    """How many rows the tree has down to each of its levels; ``top`` are the largest paths of ``nvtx_tree``."""
    return [int(level) for level in (top["level"] - top["level"].min() + 1).value_counts().sort_index().cumsum()]


def opened(top: pd.DataFrame) -> int:
    """The number of levels at which the tree opens."""
    return max([depth for depth, count in enumerate(levels(top), 1) if count <= TREE_FEW], default=1)


def asked_depth(top: pd.DataFrame, depth: int) -> int | None:
    """What ``nvtx_tree`` takes for so many levels: None for all there are."""
    return None if depth == len(levels(top)) and len(top) < int(top["paths"].iloc[0]) else depth


def opens_at(top: pd.DataFrame) -> int | None:
    """The depth that the tree is asked for when it opens."""
    return asked_depth(top, opened(top))


def outermost(top: pd.DataFrame) -> str:
    """The outermost range with most time, which the page shows where none is named."""
    rows = top[top["level"] == top["level"].min()]
    plain = rows[~rows["warmup"].fillna(False).astype(bool)]
    rows = plain if len(plain) else rows
    measure = "busy_ns" if rows["busy_ns"].notna().any() else "cpu_ns"
    return str(rows["path"].loc[rows[measure].astype("Float64").fillna(0).idxmax()])


def main(arguments: Sequence[str]) -> int:
    """Prepares reports of a library; ends at once when standard input is closed, as it is where its starter ends."""
    priority.only_idle()
    threading.Thread(target=_end_with_starter, daemon=True).start()
    library = open_library(config.load(library=arguments[0]))
    library.use_one_thread()
    for report_id in arguments[1:] if config.load().answers_mb else ():
        with suppress(WarpdeckError):
            prepare(library, report_id)
            library.share_prepared(report_id)
        with suppress(WarpdeckError):
            summary_refresh.refresh_reports(library, [library.find(report_id)])
        with suppress(WarpdeckError):
            timeline(library, report_id)
            library.share_prepared(report_id)
    summary_refresh.refresh(library)
    _ = Board(library).listed  # what changed is remembered
    return 0


def _end_with_starter() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
