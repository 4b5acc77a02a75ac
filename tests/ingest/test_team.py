"""Workers of a team: real processes and a real PostgreSQL import every file once."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job as Queued
from procrastinate.worker import Worker as Taker

from bench import team_queue
from ingest import queue
from ingest import team as team_worker
from ingest.queue import Queue
from ingest.team_worker import JobGivenBack, TeamWorker
from ingest.worker import Worker
from profiledb import config
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from profiledb.library.postgres import Postgres
from profiledb.library.workers import WorkerInfo, Workers
from tests.conftest import CORPUS, ROOT, Ingest, wait_until
from tests.support.postgres import Server

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")


@pytest.mark.slow("workers of a team that are killed")
def test_every_file_once_while_workers_die(team: Shared, tmp_path: Path) -> None:
    result = team_queue.import_traces(tmp_path, team.url, 24, workers=2, kills=2, limit_s=200)
    assert (result.killed, result.reports, result.published) == (2, 24, 24)
    assert result.states["ready"] + result.states["duplicate"] == result.states.total() == 24
    catalog = Catalog(team)
    assert len({job.report_id for job in catalog.jobs()}) == 24
    assert len({one.source_sha256 for one in catalog.reports()}) == 24
    library = Library(tmp_path / "library", catalog)
    assert all(library.is_intact(one.id) for one in library.list())
    with team.connect() as db:
        assert db.execute("SELECT count(*) FROM procrastinate.procrastinate_jobs").fetchone()[0] == 0
    assert len(Workers(team).all()) <= result.killed, "those that ended well have left"


def test_the_same_content_is_one_report_and_sidecars_find_it(
    team: Shared, inbox: Path, tmp_path: Path, ingest: Ingest
) -> None:
    team_queue.write_traces(inbox, 1)
    shutil.copy(inbox / "00000.pt.trace.json", inbox / "copy.pt.trace.json")
    (inbox / "00000.meta.json").write_text('{"workload": "queued"}')
    folder = tmp_path / "library"
    ingest(inbox, folder, WARPDECK_DATABASE=team.url)
    library = Library(folder, Catalog(team))
    (report,) = library.list()
    states = {job.name: job.state for job in library.catalog.jobs()}
    assert sorted(states.values()) == ["duplicate", "ready", "ready"]
    with library.cursor(report.id) as cursor:
        assert cursor.execute("SELECT count(*) FROM meta").fetchone() != (0,)
    assert not (folder / "worker.lock").exists()


def test_a_script_hears_that_a_file_failed(team: Shared, inbox: Path, tmp_path: Path) -> None:
    (inbox / "bad.nsys-rep").write_bytes(b"no report")
    argv = [sys.executable, "-m", "ingest", "--once", "--strict", "--samples", "off", "--inbox", str(inbox)]
    done = subprocess.run(
        [*argv, "--library", str(tmp_path / "library")],
        cwd=ROOT, env=os.environ | {"WARPDECK_DATABASE": team.url}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, [job.state for job in Catalog(team).jobs()]) == (1, ["failed"]), done.stderr


@pytest.mark.parametrize("how", [pytest.param(("--once",), marks=pytest.mark.slow("starts another worker")), ()])
def test_a_worker_with_another_library_ends(team: Shared, inbox: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    Library(tmp_path / "library", Catalog(team)).require_own_database()
    team_queue.write_traces(inbox, 1)
    argv = [sys.executable, "-m", "ingest", *how, "--samples", "off", "--inbox", str(inbox)]
    done = subprocess.run(
        [*argv, "--library", str(tmp_path / "not mounted")],
        cwd=ROOT, env=os.environ | {"WARPDECK_DATABASE": team.url}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "is not the library of this database" in done.stderr
    assert "Traceback" not in done.stderr
    assert Catalog(team).jobs() == []


LARGE = 150_000
"""Events of a trace that takes seconds, also where the machine is quick."""
AWAY_S = 12.0
PATIENCE_S = 100.0


def large(inbox: Path) -> Path:
    """A trace that is longer at hand than those of team_queue.write, and waits behind them."""
    team_queue.drop_trace(inbox, 0)
    made = json.loads((inbox / team_queue.make_trace_name(0)).read_text())
    more = [made["traceEvents"][1] | {"ts": 10 * number} for number in range(LARGE)]
    (inbox / "part").write_text(json.dumps(made | {"traceEvents": made["traceEvents"] + more}))
    (inbox / team_queue.make_trace_name(0)).unlink()
    return (inbox / "part").rename(inbox / "large.pt.trace.json")


@pytest.fixture
def worker(team: Shared, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker that runs until the end of the test, with its output in ``log``."""
    (tmp_path / "inbox").mkdir()
    told = {"WARPDECK_DATABASE": team.url, "WARPDECK_DATA": str(tmp_path), "WARPDECK_SCAN_S": "0.3"}
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "ingest", "--samples", "off"],
            cwd=ROOT,
            env=os.environ | told,
            stdout=log,
            stderr=log,
        )
    yield worker
    worker.terminate()
    worker.wait(60)


def at_hand(team: Shared, path: Path) -> bool:
    """Whether a worker converts a file."""
    job = Catalog(team).job(str(path))
    return job is not None and job.state == "converting"


@pytest.mark.integration
@pytest.mark.slow("a worker asks again and again while the database is away")
def test_a_file_at_hand_keeps_its_place_while_the_database_is_away(
    team: Shared, tmp_path: Path, worker: "subprocess.Popen[bytes]", postgres: Server
) -> None:
    """New files are smaller and would come first, so in a busy inbox they would always do so."""
    path = large(tmp_path / "inbox")
    wait_until(lambda: at_hand(team, path), PATIENCE_S)
    postgres.stop()
    until = time.monotonic() + AWAY_S
    try:
        for number in range(8):
            team_queue.drop_trace(tmp_path / "inbox", number)
        wait_until(lambda: time.monotonic() > until)
    finally:
        postgres.start()
    wait_until(lambda: Catalog(team).job_states() == {"ready": 9}, PATIENCE_S)
    ready = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines() if line.startswith("ready ")]
    assert ready[0] == path.name, ready
    assert worker.poll() is None


@pytest.mark.integration
@pytest.mark.slow("a worker of a team that ends in the middle of a long trace")
def test_a_worker_that_ends_leaves_its_file_to_the_others(
    team: Shared, tmp_path: Path, worker: "subprocess.Popen[bytes]"
) -> None:
    path = large(tmp_path / "inbox")
    wait_until(lambda: at_hand(team, path), PATIENCE_S)
    worker.terminate()
    worker.wait(60)
    assert Catalog(team).job_states() == {"waiting": 1}
    with team.connect() as db:
        (job,) = db.execute("SELECT status, attempts FROM procrastinate.procrastinate_jobs").fetchall()
    assert (job["status"], job["attempts"]) == ("todo", 0), "no death that would count"


def test_a_job_that_comes_after_the_end_is_given_back(team: Shared, inbox: Path, tmp_path: Path) -> None:
    """The queue hands out jobs until it learns of the end; a job that counted as done then would be lost."""
    settings = config.load(library=tmp_path / "library", inbox=inbox, database=team.url, samples="off")
    library, files = Library(settings.library, Catalog(team)), Queue(settings, team, open_inbox(settings))
    me = WorkerInfo("one", "host", "", "")
    worker = TeamWorker(library, settings, open_inbox(settings), lambda _: None, me=me, queue=files)
    path = inbox / team_queue.make_trace_name(1)
    team_queue.drop_trace(inbox, 1)
    worker.take([path])
    worker.stop()

    async def fetch() -> Queued | None:
        app = queue.make_app(settings)
        async with app.open_async():
            return await app.job_manager.fetch_job(None, await app.job_manager.register_worker())

    job = asyncio.run(fetch())
    assert job
    with pytest.raises(JobGivenBack):
        worker.convert(Mock(job=job), str(path))
    files.close()
    with team.connect() as db:
        (row,) = db.execute("SELECT attempts FROM procrastinate.procrastinate_jobs").fetchall()
    assert row["attempts"] == job.attempts - 1, "the retry adds it again, so no death is counted"
    assert library.catalog.job_states() == {"waiting": 1}


def test_the_next_file_is_a_small_or_an_old_one() -> None:
    """Priorities by hand, 5 s for each doubling of the size: a file of 1 MiB gives way to one of 1 KiB for 50 s."""
    now = 1_800_000_000.0
    large = queue.compute_priority(1 << 20, now)
    assert queue.compute_priority(1 << 10, now) > large
    assert queue.compute_priority(1 << 10, now + 49) > large
    assert queue.compute_priority(1 << 10, now + 51) < large
    assert queue.compute_priority(1 << 10, now, is_sample=True) < queue.compute_priority(1 << 30, now + 3_000)
    assert -(2**31) < queue.compute_priority(1 << 40, now + 50 * 365 * 86_400) < queue.FIRST_PRIORITY
    assert queue.compute_priority(0, now) < queue.FIRST_PRIORITY


def test_a_file_of_a_worker_that_died_is_next(team: Shared, inbox: Path, tmp_path: Path) -> None:
    """Small files that came later do not overtake it, and the list shows it as waiting."""
    settings = config.load(library=tmp_path / "library", inbox=inbox, database=team.url, samples="off")
    library, files = Library(settings.library, Catalog(team)), Queue(settings, team, open_inbox(settings))
    worker = TeamWorker(
        library, settings, open_inbox(settings), lambda _: None, me=WorkerInfo("one", "host", "", ""), queue=files
    )
    path = large(inbox)
    team_queue.drop_trace(inbox, 1)
    library.catalog.put_job(Job(str(path), path.name, "1", "converting"))
    app = queue.make_app(settings)

    async def taken_after_a_death() -> Queued | None:
        async with app.open_async():
            files.put(str(path))
            dead = await app.job_manager.register_worker()
            assert await app.job_manager.fetch_job(None, dead)
            files.put(str(inbox / team_queue.make_trace_name(1)))
            with team.connect("") as db:
                db.execute("UPDATE procrastinate.procrastinate_workers SET last_heartbeat = now() - interval '1 min'")
            await team_worker._Heartbeat(app, worker, Taker(app), patience_s=0).beat()
            return await app.job_manager.fetch_job(None, await app.job_manager.register_worker())

    taken = asyncio.run(taken_after_a_death())
    files.close()
    assert taken
    assert (taken.task_kwargs["path"], taken.attempts) == (str(path), 1)
    assert library.catalog.job_states() == {"waiting": 1}


@pytest.mark.parametrize(
    ("error", "finished"), [(ConnectorException(), 0), (UniqueViolation(constraint_name="x", queueing_lock="y"), 1)]
)
def test_a_job_that_another_worker_took_over_is_its_affair(error: Exception, finished: int) -> None:
    """A job ends only if its file waits in another job; otherwise the deaths of its workers would be forgotten."""
    manager = AsyncMock()
    manager.retry_job.side_effect = error
    job = Mock(attempts=0, task_kwargs={"path": "/inbox/x"})
    asyncio.run(team_worker._free_job(Mock(job_manager=manager), Mock(), job))
    assert manager.finish_job.await_count == finished


def test_a_report_that_takes_long_to_publish_keeps_its_lock(
    team: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends transactions that are silent for a minute; here, for a tenth of a second."""
    impatient = Postgres(f"{team.url}&options=-c%20idle_in_transaction_session_timeout%3D100ms")
    library = Library(tmp_path, Catalog(impatient))
    me = WorkerInfo("one", "host", "", "")
    settings = config.load(library=tmp_path)
    worker = TeamWorker(library, settings, open_inbox(settings), lambda _: None, me=me, queue=None)  # type: ignore[arg-type]

    def slowly(*_: object) -> str:
        quiet = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
        quiet = f"{quiet} AND datname = current_database() AND state_change < now() - make_interval(secs => 0.3)"

        def waits() -> bool:
            with team.connect("") as db:
                return bool(db.execute(quiet).fetchone()[0] == 1)

        wait_until(waits, 10)
        return "ready"

    monkeypatch.setattr(Worker, "publish", slowly)
    manifest = Manifest("a" * 16, 1, "x", "nsys", "a" * 64, 1).to_json()
    assert worker.publish(tmp_path / "x", tmp_path, manifest, None) == "ready"
    impatient.close()


@pytest.mark.parametrize(("other", "state"), [("2023.4.4", "waiting"), ("2019.3.1", "failed")])
def test_a_report_that_failed_goes_to_the_worker_with_a_newer_nsys(
    team: Shared, inbox: Path, tmp_path: Path, other: str, state: str
) -> None:
    settings = config.load(library=tmp_path / "library", inbox=inbox, database=team.url, samples="off")
    library, files = Library(settings.library, Catalog(team)), Queue(settings, team, open_inbox(settings))
    me = WorkerInfo("one", "host", "2020.1.1", "")
    worker = TeamWorker(library, settings, open_inbox(settings), lambda _: None, me=me, queue=files)
    Workers(team).seen(WorkerInfo("other", "gpu7", other, ""))
    path = inbox / "a.nsys-rep"
    path.write_bytes(b"no report")
    worker.record(Job(str(path), path.name, "1", "failed", file_kind="report"))
    files.close()
    (job,) = library.catalog.jobs()
    assert (job.state, f"nsys {other}" in job.message) == (state, state == "waiting")
    with team.connect() as db:
        rows = db.execute("SELECT queue_name FROM procrastinate.procrastinate_jobs").fetchall()
    assert [row["queue_name"] for row in rows] == [queue.name_queue(other)] * (state == "waiting")


@needs_corpus
@pytest.mark.slow("a worker of a team over several rounds")
def test_a_report_goes_to_the_worker_whose_nsys_reads_it(
    team: Shared, inbox: Path, tmp_path: Path, ingest: Ingest, nsys: Path
) -> None:
    """An old nsys, here one that reads nothing, leaves a report to the newest; without a newer one, it fails."""
    old = tmp_path / "nsys"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "NVIDIA Nsight Systems version 2020.1.1" && exit\nexit 1\n')
    old.chmod(0o755)
    shutil.copy(CORPUS / "streams_4090.nsys-rep", inbox)
    settings = {"WARPDECK_DATABASE": team.url, "WARPDECK_NSYS": str(old)}
    catalog, folder = Catalog(team), tmp_path / "library"
    ingest(inbox, folder, **settings)
    (failed,) = catalog.jobs()
    assert (failed.state, "nsys 2020.1.1" in failed.tools) == ("failed", True)
    ingest(inbox, folder, **settings)
    assert catalog.jobs() == [failed], "not tried again by the same converters"
    Workers(team).seen(WorkerInfo("other", "gpu7", "2023.4.4", ""))
    ingest(inbox, folder, **settings)
    (waiting,) = catalog.jobs()
    assert (waiting.state, "nsys 2023.4.4" in waiting.message) == ("waiting", True)
    ingest(inbox, folder, WARPDECK_DATABASE=team.url, WARPDECK_NSYS=str(nsys))
    (taken,) = catalog.jobs()
    assert taken.state == "ready", taken
    assert len(catalog.reports()) == 1
