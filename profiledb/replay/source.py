"""Read the data of one report that a replay needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import duckdb
import numpy as np

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import views
from profiledb.query.views import Views
from profiledb.replay import recording
from profiledb.replay.recomputation import read_recomputed
from profiledb.replay.recording import KERNEL, Integers
from profiledb.replay.roofs import Roofs, read_roofs
from profiledb.replay.window import Window, read_drivers, read_operators, read_profiler, read_ranges

MOST_ORPHANS = 0.05
"""Maximum fraction of kernels without the call that launched them."""


@dataclass(frozen=True)
class Source:
    """The input of a replay from one report: recording and window; the rest as in ``Part``, ``recomputed`` by id."""

    recording: recording.Recording
    window: Window
    ranges: Mapping[str, Integers]
    operators: frozenset[str]
    drivers: Mapping[int, int]
    profiler: Integers
    roofs: Callable[[], Roofs]
    recomputed: Callable[[], Integers]


@cache
def find_views() -> tuple[Views, ...]:
    return tuple(views.list_needed(recording.VIEWS))


def read_source(library: Library, report_id: str, db: duckdb.DuckDBPyConnection, window: Window) -> Source:
    """Read a part of a report.

    Raises:
        NotCapturedError: it holds nothing that can be replayed.
    """
    recorded = recording.read(db, window.begin_ns, window.end_ns)
    if not len(recorded.operations) and _has_sums(db):
        raise NotCapturedError("This report has sums of launches and no times, so there is nothing to replay.")
    _check_launches(recorded, window.begin_ns)
    return Source(
        recorded, window, read_ranges(db, window), read_operators(db), read_drivers(db), read_profiler(db, window),
        cache(partial(read_roofs, library, report_id, window.begin_ns, window.end_ns)),
        cache(partial(read_recomputed, library, report_id)),
    )  # fmt: skip


def _check_launches(recorded: recording.Recording, begin_ns: int) -> None:
    calls, operations = recorded.calls, recorded.operations
    if not len(operations):
        raise NotCapturedError("Nothing ran on a GPU, so there is nothing to replay.")
    if not len(calls):
        raise NotCapturedError(
            "This report has no CUDA calls, so nothing tells what launched its kernels.",
            command="nsys profile --trace=cuda,nvtx ...",
        )
    kernels = (operations.kind == KERNEL) & (operations.start >= begin_ns)  # the calls of earlier ones are not read
    orphans = int(np.sum(kernels & (operations.call < 0))) / max(1, int(np.sum(kernels)))
    if orphans > MOST_ORPHANS:
        raise NotCapturedError(
            f"The calls that launched {100 * orphans:.0f} % of the kernels are missing or begin after them, so nothing"
            " can be replayed.",
            why="Capture a shorter part of the program: events were lost, the capture began after the launches, or the"
            " clocks of host and GPU disagree.",
        )


def _has_sums(db: duckdb.DuckDBPyConnection) -> bool:
    try:
        return db.execute("SELECT 1 FROM path_sum LIMIT 1").fetchone() is not None
    except duckdb.CatalogException:  # a report from before this table
        return False
