"""Workers of a team: real processes and a real PostgreSQL, which between them take in every file once."""

import shutil
from pathlib import Path

import pytest

from bench import team_queue
from profiledb.report.catalog import Catalog
from profiledb.report.database import Shared
from profiledb.report.library import Library
from profiledb.report.workers import Seen, Workers
from tests.conftest import CORPUS, Ingest

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
