"""Prefetch the answers that pages ask at their first look at a report.

The headers of analyses name them (``-- prefetch:``); a test checks that the pages of a prepared report compute nothing.
``python -m profiledb.studies.prefetch LIBRARY`` stores these answers (query/answer_store.py) for one report after the
other, at idle priority or, in a team, at that of a conversion, and the missing summaries of all reports
(trends/summary_refresh.py), as standard input says. A report's verdicts are an order of their own: they take a third of
the time, lists wait for them, and without them a page waits longest.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any

import duckdb
import pyarrow as pa

from profiledb import config, priority
from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.findings import digest, rulebook
from profiledb.findings.judge import Steady
from profiledb.findings.rule import Rule
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.storage import LOOKS
from profiledb.monitoring import allocator
from profiledb.query import answer_store, header, request, views
from profiledb.query.analysis import convert_frame
from profiledb.report import stored_views
from profiledb.rules import classes
from profiledb.selection import model
from profiledb.studies import range_tree, run_lookup
from profiledb.studies.prefetch_orders import BUSY, LISTS, VERDICTS
from profiledb.studies.summary import answers as summary
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.team_summary_store import open_summaries
from profiledb.studies.verdicts import store_verdicts
from profiledb.sweep_schedule import SweepSchedule
from profiledb.timeline.store import Timelines

_log = logging.getLogger("warpdeck")
_LISTS_LOCK = 0x7761727067
"""Key of the lock in PostgreSQL that the process of a team holds while it prepares lists."""


def prepare(library: Library, report_id: str) -> None:
    """Store all of these answers for a report with a timeline; answers that the report lacks are left out."""

    def whole(name: str, **params: Any) -> pa.Table:
        return answer_store.answer_rows(library, request.build(library, report_id, name, params))

    def part(name: str, **params: Any) -> pa.Table:
        return whole(name, **header.get(name).taken(usual) | params)

    try:
        warmup = any(whole("range_paths")["is_warmup"].to_pylist())
    except NotCapturedError:
        warmup = False
    usual = model.to_params(model.get_default(warmup=warmup))

    rows = library.find(report_id).rows
    _ask_all(whole, "whole", rows)
    _ask_all(part, "part", rows)
    with suppress(WarpdeckError):
        _ask_range_analyses(part)
    with suppress(WarpdeckError):
        if steady := _judge(library, report_id):
            _ask_all(lambda name, **given: part(name, **summary.restrict_params(steady, name), **given), "steady", rows)


def _judge(library: Library, report_id: str) -> Steady | None:
    """Store the verdicts about a report, and list the rules that fire; return its steady part, if it has one."""
    steady = store_verdicts(library, library.find(report_id))
    list_findings(library, [report_id], rulebook.load(config.load().rules))
    return steady


def store_views(library: Library, report_id: str) -> None:
    """Store all views, bound to this report, so that no later process creates them (report/stored_views.py)."""
    with suppress(WarpdeckError, duckdb.Error, OSError):  # a full disk, a damaged report: processes create their own
        library.fetch(report_id)
        statements = views.build_sql(views.list_files())
        stored_views.store(library.derived.views, library.path(report_id), statements)


def list_findings(library: Library, report_ids: Sequence[str], rules: Mapping[str, Rule]) -> None:
    """Write which rules fire in some reports, as far as they are judged, so that lists can filter by them."""
    version, links = digest.hash_rules(rules.values()), digest.read_links(library.catalog.links.all)
    for at, report_id in enumerate(report_ids):
        if at % LOOKS == 0:
            library.look_at(report_ids[at : at + LOOKS])
        entries = digest.read_digest(library, report_id, links, rules)
        if entries is not None:
            library.catalog.listing.put_findings(report_id, version, [one.rule for one in entries])


def _ask_all(ask: Callable[..., Any], part: str, rows: Mapping[str, int]) -> None:
    """Run the analyses that their headers name for a part of a report; skip those whose data the report lacks.

    Args:
        ask: runs an analysis.
        part: one of ``header.PARTS``.
        rows: the rows of each table of the report.
    """
    for name, analysis in header.list_analyses().items():
        for asked in analysis.prefetch:
            if asked.part == part and (not asked.of or rows.get(asked.of)):
                with suppress(WarpdeckError):
                    ask(name, **dict(asked.params))


def build_timeline(library: Library, report_id: str) -> None:
    """Make the timeline of a report, unless it has no events."""
    if TIMELINE not in library.find(report_id).subjects:
        return
    settings = config.load()
    try:
        Timelines(library, classes.load(settings.classes), settings.memory_limit).make(report_id)
    except (duckdb.Error, OSError):
        _log.warning("The timeline of %s could not be made", report_id, exc_info=True)


def _ask_range_analyses(part: Any) -> None:
    """Ask the analyses of the page Ranges, which depend on the tree."""
    top = convert_frame(part("nvtx_tree", limit=range_tree.BOXES))
    if top.empty:
        return
    depth = range_tree.choose_depth(top, range_tree.choose_levels(top))
    part("nvtx_tree", limit=range_tree.ROWS, **({"depth": depth} if depth else {}))
    path = range_tree.find_outermost(top)
    for name in ("nvtx_tree", "range_spread", "range_instances"):
        part(name, path=path)
    for name in ("kernels", "class_split"):
        with suppress(WarpdeckError):
            part(name, range=path, skip_first=0)


def main(arguments: Sequence[str]) -> int:
    """Obey each line of standard input (prefetch_orders.py).

    Each line is answered by the same one when it is done. The process ends at once when standard input is closed, as it
    is when the starter ends.
    """
    allocator.start_trimming()
    settings = config.load(library=arguments[0])
    if settings.database:  # a report that nobody prepares costs the servers of a team more than this takes
        priority.step_back(priority.CONVERSION)
    else:
        priority.use_idle_only()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever else libraries print is no answer
    orders = SimpleQueue[str]()
    threading.Thread(target=_read_orders, args=(orders,), daemon=True).start()
    library = open_library(settings)
    library.use_one_thread()
    has_views = has_old_findings = False
    sweeps = SweepSchedule()
    while True:
        answer = order = orders.get()
        if order != LISTS and not has_views:
            store_views(library, order.removeprefix(VERDICTS))
            has_views = True
        if order.startswith(VERDICTS):
            prepare_verdicts(library, order.removeprefix(VERDICTS))
        elif order == LISTS:
            if not has_old_findings:
                list_old_findings(library)
                has_old_findings = True
            began = time.monotonic()
            is_sweep = sweeps.is_due()
            answer = LISTS if do_lists(library, sweep=is_sweep) else BUSY
            if is_sweep and answer == LISTS:
                sweeps.note(time.monotonic() - began)
        else:
            prepare_all(library, order)
        print(answer, file=answers, flush=True)


def prepare_verdicts(library: Library, report_id: str) -> None:
    """Store the verdicts about a report and the summary that lists show, which includes them."""
    if not config.load().answers_mb:
        return
    with suppress(WarpdeckError):
        library.fetch(report_id)  # with the verdicts that a server has shared
        _judge(library, report_id)
        summary_refresh.refresh_reports(library, [library.find(report_id)])
        library.share_prepared(report_id)


def prepare_all(library: Library, report_id: str) -> None:
    """Store the answers, the summary and the timeline of a report."""
    if not config.load().answers_mb:
        return
    with suppress(WarpdeckError):
        library.fetch(report_id)
        prepare(library, report_id)
    with suppress(WarpdeckError):
        summary_refresh.refresh_reports(library, [library.find(report_id)])
        library.share_prepared(report_id)
    with suppress(WarpdeckError):
        build_timeline(library, report_id)


def list_old_findings(library: Library) -> None:
    """List the verdicts that lists lack although reports have them: older ones, or those that the list has lost."""
    with suppress(WarpdeckError):
        rules = rulebook.load(config.load().rules)
        list_findings(library, library.catalog.listing.unjudged(digest.hash_rules(rules.values())), rules)


def do_lists(library: Library, *, sweep: bool = True) -> bool:
    """Store the data of lists of reports: summaries, runs and series. Return False if another process does so.

    A ``sweep`` looks at every report, for summaries that are outdated and those of deleted reports. Otherwise only
    reports without a summary are looked at: whoever changes a report renews its own.
    """
    with _take_turn(library) as is_free:
        if is_free:
            if sweep or not open_summaries(library).exists:
                summary_refresh.refresh(library)
            else:
                summary_refresh.refresh_missing(library)
            run_lookup.list_lines(library, work_out=True)
            _ = Board(library).listed  # keeps what lists show of the series that changed
    return is_free


@contextmanager
def _take_turn(library: Library) -> Iterator[bool]:
    """Return True, for the block, to one process of a team at a time; the others would compute the same."""
    if not library.catalog.shared:
        yield True
        return
    with library.catalog.shared.connect("") as db:
        db.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
        yield bool(db.execute("SELECT pg_try_advisory_xact_lock(?)", [_LISTS_LOCK]).fetchone()[0])


def _read_orders(orders: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        orders.put(line.strip())
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
