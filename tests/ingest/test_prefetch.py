"""The worker prepares imported reports in the background, and its helper process ends with it."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ingest import prefetch
from ingest.prefetch import Prefetcher
from profiledb.library.catalog import Catalog, Job
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.query import answer_store, request
from profiledb.report.derived_files import SUMMARIES
from profiledb.studies import prefetch as prepare_reports
from profiledb.studies.prefetch_orders import LISTS, VERDICTS
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.team_summary_store import open_summaries
from profiledb.timeline import build
from tests.conftest import ROOT, SAMPLES, ingest_files, wait_until

REPORT = "transformer_inference.sqlite"


@pytest.mark.parametrize(
    "whole",
    [False, pytest.param(True, marks=pytest.mark.slow("prepares every page of a report"))],
    ids=["its summary", "all"],
)
def test_the_worker_prepares_a_report_after_it_is_ready(tmp_path: Path, whole: bool) -> None:
    inbox, library = tmp_path / "inbox", Library(tmp_path / "library")
    inbox.mkdir()
    (inbox / REPORT).write_bytes((SAMPLES / REPORT).read_bytes())
    argv = [sys.executable, "-m", "ingest", "--until-stdin-closes", "--samples", "off"]
    folders = ["--inbox", str(inbox), "--library", str(library.folder)]
    worker = subprocess.Popen([*argv, *folders], stdin=subprocess.PIPE, cwd=ROOT)
    try:
        wait_until(lambda: bool(library.list()))
        (report,) = library.list()
        # it runs while nothing else does, and beside these tests something always does
        wait_until(lambda: report.id in open_summaries(library).stamps(), 240)
        # the last but one that is asked for: the process is at its end
        last = request.build(library, report.id, "range_facts", {"warmup": "exclude"})
        plain = request.build(library, report.id, "range_facts")
        wait_until(lambda: not whole or any(answer_store.read(library, one) is not None for one in (last, plain)), 240)
        wait_until(lambda: not whole or build.get_timeline_path(library.derived.timelines, report.id).exists(), 240)
    finally:
        assert worker.stdin
        worker.stdin.close()
        assert worker.wait(30) == 0
    wait_until(lambda: not _left(library.folder))  # a process at idle priority that is killed dies late


def test_a_process_that_dies_is_started_again_and_not_for_ever(tmp_path: Path) -> None:
    prefetcher = Prefetcher(tmp_path)
    prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id="0123456789abcdef"))
    prefetcher.add(Job("/inbox/b", "b", "", "failed", report_id="1123456789abcdef"))
    starts = 0
    prefetcher.run_if_idle()
    while prefetcher._process is not None:
        starts += 1
        prefetcher._process.kill()
        prefetcher._process.wait()
        prefetcher.run_if_idle()
    assert starts == 5
    assert not prefetcher._waiting


@pytest.mark.parametrize("shared", [False, True])
def test_summaries_are_looked_for_again_where_their_file_is_gone(tmp_path: Path, shared: bool) -> None:
    """A team's summaries are in its database, without such a file: a worker must not search for it forever."""
    library = Library(tmp_path)
    (library.reports / "0123456789abcdef.v1.duckdb").touch()
    prefetcher = Prefetcher(tmp_path, shared=shared)
    _run_until_done(prefetcher)
    (tmp_path / SUMMARIES).unlink(missing_ok=True)
    prefetcher.run_if_idle()
    assert (LISTS not in prefetcher._given) is shared
    prefetcher.stop()


def test_one_process_judges_reports_as_they_come_and_prepares_them_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefetcher = Prefetcher(tmp_path)
    first, *others = [f"{number}123456789abcdef" for number in range(7)]
    prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id=first))
    _run_until_done(prefetcher)
    assert prefetcher._process
    pid = prefetcher._process.pid
    for report_id in others:
        prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id=report_id))
    orders: list[str] = []
    give = prefetcher._give

    def note(order: str, tries: int) -> None:
        orders.append(order)
        give(order, tries)

    monkeypatch.setattr(prefetcher, "_give", note)
    prefetcher.run_if_idle()
    verdicts = [VERDICTS + report_id for report_id in others[::-1]]
    assert orders == verdicts[: prefetch.AHEAD]
    _run_until_done(prefetcher)
    assert [order for order in orders if order != LISTS] == [*verdicts, *others[::-1]]
    assert prefetcher._process.pid == pid
    monkeypatch.setattr(prefetch, "IDLE_S", 0.0)

    def has_ended() -> bool:
        prefetcher.run_if_idle()
        return prefetcher._process is None

    wait_until(has_ended)
    assert not psutil.pid_exists(pid)


def test_the_process_gets_its_next_order_when_it_has_done_one(tmp_path: Path) -> None:
    """A worker looks every few seconds; many small reports are done meanwhile."""
    prefetcher = Prefetcher(tmp_path)
    for number in range(7):
        prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id=f"{number}123456789abcdef"))
    prefetcher.run_if_idle()
    wait_until(lambda: not (prefetcher._waiting or prefetcher._given or prefetcher._since_lists))
    prefetcher.stop()


def test_one_process_of_a_team_prepares_lists_at_a_time(team: Shared, tmp_path: Path) -> None:
    library = Library(tmp_path, Catalog(team))
    with team.connect("") as db:
        db.execute("SELECT pg_advisory_xact_lock(?)", [prepare_reports._LISTS_LOCK])
        assert not prepare_reports.do_lists(library)
    assert prepare_reports.do_lists(library)


def test_a_judged_report_needs_no_other_summary(tmp_path: Path) -> None:
    ingest_files(tmp_path, [SAMPLES / REPORT])
    library = Library(tmp_path / "library")
    (report,) = library.list()
    prepare_reports.prepare_verdicts(library, report.id)
    assert summary_refresh.refresh(library) == 0


@pytest.mark.slow("prepares every page of a report")
def test_a_prepared_report_needs_no_other_summary(tmp_path: Path) -> None:
    ingest_files(tmp_path, [SAMPLES / REPORT])
    library = Library(tmp_path / "library")
    (report,) = library.list()
    prepare_reports.prepare_verdicts(library, report.id)
    prepare_reports.prepare_all(library, report.id)
    assert summary_refresh.refresh(library) == 0


@pytest.mark.slow("two processes that import all of ours")
def test_a_process_that_has_done_enough_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "MOST", 1)
    prefetcher = Prefetcher(tmp_path)
    pids = set()
    for report_id in ("0123456789abcdef", "1123456789abcdef"):
        prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id=report_id))
        _run_until_done(prefetcher)
        assert prefetcher._process
        pids.add(prefetcher._process.pid)
    prefetcher.stop()
    assert len(pids) == 2


def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    prefetcher = Prefetcher(tmp_path)
    prefetcher.add(Job("/inbox/a", "a", "", "ready", report_id="0123456789abcdef"))
    prefetcher.run_if_idle()
    assert prefetcher._process
    process = psutil.Process(prefetcher._process.pid)
    prefetcher.stop()
    assert not process.is_running()
    prefetcher.run_if_idle()
    assert prefetcher._process is None


def test_lists_between_two_sweeps_look_at_no_report_that_has_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_files(tmp_path, [SAMPLES / REPORT])
    library = Library(tmp_path / "library")
    assert prepare_reports.do_lists(library, sweep=False)
    (report,) = library.list()
    store = open_summaries(library)
    assert store.stamps().keys() == {report.id}, "without a file of summaries all are made"
    store.forget([report.id])
    monkeypatch.setattr(Library, "file_times", lambda _: pytest.fail("it looked at all files"))
    assert prepare_reports.do_lists(library, sweep=False)
    assert store.stamps().keys() == {report.id}, "the missing one"


def _run_until_done(prefetcher: Prefetcher) -> None:
    def is_done() -> bool:
        prefetcher.run_if_idle()
        return not (prefetcher._waiting or prefetcher._given or prefetcher._since_lists)

    wait_until(is_done)


def _left(folder: Path) -> list[str]:
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in map(" ".join, found) if str(folder) in line]
