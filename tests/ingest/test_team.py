"""Workers of a team: real processes and a real PostgreSQL, which between them take in every file once."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from procrastinate.exceptions import ConnectorException, UniqueViolation

from bench import team_queue
from ingest import team as team_worker
from ingest.member import TeamWorker
from ingest.worker import Worker
from profiledb import config
from profiledb.report import identity
from profiledb.report.catalog import Catalog, Manifest
from profiledb.report.database import Shared
from profiledb.report.library import Library
from profiledb.report.place import open_inbox
from profiledb.report.postgres import Postgres
from profiledb.report.workers import Seen, Workers
from tests.conftest import CORPUS, ROOT, Ingest, wait_until

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")


def test_every_file_once_while_workers_die(team: Shared, tmp_path: Path) -> None:
    result = team_queue.take_in(tmp_path, team.url, 24, workers=2, kills=2, limit_s=200)
    assert (result.killed, result.reports, result.published) == (2, 24, 24)
    assert result.states["ready"] + result.states["duplicate"] == result.states.total() == 24
    catalog = Catalog(team)
    assert len({job.report_id for job in catalog.jobs()}) == 24
    assert len({one.source_sha256 for one in catalog.reports()}) == 24
    library = Library(tmp_path / "library", catalog)
    assert all(library.intact(one.id) for one in library.list())
    with team.connect() as db:
        assert db.execute("SELECT count(*) FROM procrastinate.procrastinate_jobs").fetchone()[0] == 0
    assert len(Workers(team).all()) <= result.killed, "those that ended well have left"


def test_the_same_content_is_one_report_and_sidecars_find_it(
    team: Shared, inbox: Path, tmp_path: Path, ingest: Ingest
) -> None:
    team_queue.write(inbox, 1)
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


@pytest.mark.parametrize("how", [("--once",), ()])
def test_a_worker_with_another_library_ends(team: Shared, inbox: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    identity.require(Library(tmp_path / "library", Catalog(team)))
    team_queue.write(inbox, 1)
    argv = [sys.executable, "-m", "ingest", *how, "--samples", "off", "--inbox", str(inbox)]
    done = subprocess.run(
        [*argv, "--library", str(tmp_path / "not mounted")],
        cwd=ROOT, env=os.environ | {"WARPDECK_DATABASE": team.url}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "is not the library that the database speaks of" in done.stderr
    assert "Traceback" not in done.stderr
    assert Catalog(team).jobs() == []


@pytest.mark.parametrize(
    ("error", "finished"), [(ConnectorException(), 0), (UniqueViolation(constraint_name="x", queueing_lock="y"), 1)]
)
def test_a_job_that_another_worker_took_over_is_its_affair(error: Exception, finished: int) -> None:
    """A job goes only where the file waits in another one: else the deaths of its workers would be forgotten."""
    manager = AsyncMock()
    manager.get_stalled_jobs.return_value = [Mock(attempts=0, task_kwargs={"path": "/inbox/x"})]
    manager.retry_job.side_effect = error
    asyncio.run(team_worker._take_over(Mock(job_manager=manager), Mock()))
    assert manager.finish_job.await_count == finished


def test_a_report_that_takes_long_to_publish_keeps_its_lock(
    team: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends transactions that say nothing for a minute, here for a tenth of a second."""
    impatient = Postgres(f"{team.url}&options=-c%20idle_in_transaction_session_timeout%3D100ms")
    library = Library(tmp_path, Catalog(impatient))
    me = Seen("one", "host", "", "")
    settings = config.load(library=tmp_path)
    worker = TeamWorker(library, settings, open_inbox(settings), lambda _: None, me=me, queue=None)  # type: ignore[arg-type]

    def slowly(*_: object) -> dict[str, str]:
        quiet = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
        quiet = f"{quiet} AND datname = current_database() AND state_change < now() - make_interval(secs => 0.3)"

        def waits() -> bool:
            with team.connect("") as db:
                return bool(db.execute(quiet).fetchone()[0] == 1)

        wait_until(waits, 10)
        return {"state": "published"}

    monkeypatch.setattr(Worker, "publish", slowly)
    manifest = Manifest("a" * 16, 1, "x", "nsys", "a" * 64, 1).to_json()
    assert worker.publish(tmp_path / "x", tmp_path, manifest, None) == {"state": "published"}
    impatient.close()


@needs_corpus
def test_a_report_goes_to_the_worker_whose_nsys_reads_it(
    team: Shared, inbox: Path, tmp_path: Path, ingest: Ingest, nsys: Path
) -> None:
    """An old nsys, here one that says so and reads nothing, leaves a report to the newest; without that it fails."""
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
    Workers(team).seen(Seen("other", "gpu7", "2023.4.4", ""))
    ingest(inbox, folder, **settings)
    (waiting,) = catalog.jobs()
    assert (waiting.state, "nsys 2023.4.4" in waiting.message) == ("waiting", True)
    ingest(inbox, folder, WARPDECK_DATABASE=team.url, WARPDECK_NSYS=str(nsys))
    (taken,) = catalog.jobs()
    assert taken.state == "ready", taken
    assert len(catalog.reports()) == 1
