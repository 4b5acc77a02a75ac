"""The worker on an inbox in a bucket: objects become reports like the files of a folder."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench import team_queue
from ingest import deferred_files
from ingest.watch import Watch
from ingest.worker import Worker
from profiledb import config
from profiledb.errors import StorageError
from profiledb.library.bucket.bucket import Bucket
from profiledb.library.catalog import Catalog
from profiledb.library.database import Shared
from profiledb.library.inbox import Inbox
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox, open_library
from profiledb.rules.retention import Rules
from profiledb.studies import retention
from tests.support import ingestion
from tests.support.dropped_files import made
from tests.support.ingestion import Waiting
from tests.support.s3 import BOTH, S3


class Place:
    """A library of one machine whose inbox is in a bucket, and its worker, which works when it is told to."""

    def __init__(self, s3: S3, folder: Path, waiting: Waiting) -> None:
        self.folder = folder
        self.waiting = waiting
        self.lines: list[str] = []
        self.settings = config.load(inbox=s3.url(), data=folder, library=folder / "library", samples="off")
        self.inbox: Inbox = open_inbox(self.settings)
        self.library = open_library(self.settings)
        self.bucket = Bucket(self.settings.inbox_url)
        self.worker = Worker(self.library, self.settings, self.inbox, lambda _: None)
        self.worker.prepare()

    def put(self, key: str, content: Path | bytes | str) -> None:
        self.bucket.put(key, content.encode() if isinstance(content, str) else content)

    def look(self) -> dict[str, str]:
        """Import all files with a waiting process, and return the state of each."""
        text = self.settings.inbox_text
        done = self.waiting.ask(["--inbox", text, "--library", str(self.library.folder), "--samples", "off"])
        assert done.status == 0, done.errors
        self.lines = done.lines
        return self.states()

    def states(self) -> dict[str, str]:
        return {job.name: job.state for job in self.library.catalog.jobs()}


@pytest.fixture(scope="module")
def waiting(s3_server: S3) -> Iterator[Waiting]:
    """A process that knows the S3 server; one for all tests of this file, as its start takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3_server.environment.items():
            patch.setenv(name, value)
        process = Waiting()
    yield process
    process.end()


@pytest.fixture
def place(s3: S3, tmp_path: Path, waiting: Waiting) -> Place:
    return Place(s3, tmp_path, waiting)


def test_reports_and_what_lies_beside_them(place: Place, tmp_path: Path) -> None:
    team_queue.write_traces(tmp_path, 1)
    place.put("run 1/one.pt.trace.json", tmp_path / "00000.pt.trace.json")
    place.put("run 1/one.meta.json", '{"workload": "put"}')
    place.put("run 2/one.meta.json", '{"workload": "another"}')
    place.put("run 1/.hidden.sqlite", made(tmp_path / "a.sqlite"))
    place.put("run 1/b.sqlite.part", tmp_path / "a.sqlite")
    place.put("copy.pt.trace.json", tmp_path / "00000.pt.trace.json")
    place.look()
    jobs = {job.path.removeprefix(f"{place.inbox.root}/"): job.state for job in place.library.catalog.jobs()}
    states = [jobs.pop("run 1/one.pt.trace.json"), jobs.pop("copy.pt.trace.json")]
    assert sorted(states) == ["duplicate", "ready"]
    assert jobs == {"run 1/one.meta.json": "ready", "run 2/one.meta.json": "alone"}
    (report,) = place.library.list()
    with place.library.cursor(report.id) as cursor:
        assert cursor.execute("SELECT value FROM meta WHERE key = 'workload'").fetchall() == [("put",)]
    assert not list(place.library.work.iterdir()), "what was fetched is gone"


def test_an_export_beside_its_report_is_none_of_its_own(place: Place) -> None:
    for ending in (".nsys-rep", ".sqlite"):
        place.put(f"streams{ending}", config.ROOT / "sample_reports" / f"streams_serial{ending}")
    states = place.look()
    assert states["streams.sqlite"] == "companion"
    assert states["streams.nsys-rep"] == "ready"


def test_changed_and_deleted_objects(place: Place, tmp_path: Path) -> None:
    place.put("a.sqlite", made(tmp_path / "a.sqlite"))
    place.put("bad.nsys-rep", "no report")
    assert place.look() == {"a.sqlite": "ready", "bad.nsys-rep": "failed"}
    place.look()
    assert place.lines == [], "once is enough"
    place.put("a.sqlite", made(tmp_path / "b.sqlite", 7))
    place.bucket.delete(["bad.nsys-rep"])
    place.look()
    place.inbox.renew()
    place.worker.forget_removed()
    assert place.states() == {"a.sqlite": "ready"}
    assert len(place.library.list()) == 2
    place.bucket.delete(["a.sqlite"])
    assert place.look() == {"a.sqlite": "ready"}, "a report stays"


def test_a_bucket_that_is_away_for_a_while(place: Place, s3: S3, tmp_path: Path) -> None:
    place.put("a.sqlite", made(tmp_path / "a.sqlite"))
    watch = Watch(place.inbox, patience_s=0)
    watch.finished()
    s3.stop()
    with pytest.raises(StorageError):
        watch.finished()
    place.worker.take([place.inbox.root / "a.sqlite"])  # it went away after the look
    (job,) = place.library.catalog.jobs()
    assert (job.state, "does not answer" in job.message) == (deferred_files.STATE, True)
    s3.start()
    assert place.look() == {"a.sqlite": "ready"}


def test_an_object_that_is_larger_than_a_conversion_may_be(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    small = config.load(
        inbox=place.settings.inbox_url, data=place.folder, library=place.folder / "library", convert_disk_mb="1"
    )
    monkeypatch.setattr(place.worker, "settings", small)
    place.put("a.nsys-rep", b"x" * (1 << 20) + b"x")
    place.put("a.meta.json", b" " * (1 << 20) + b"{}")
    watch = Watch(place.inbox, patience_s=0)
    while len(paths := watch.finished()) < 2:
        pass  # the second look decides
    place.worker.take(paths)
    assert place.states() == {"a.nsys-rep": "failed", "a.meta.json": "failed"}
    assert {job.message for job in place.library.catalog.jobs()} == {
        "a.nsys-rep is larger than 1 MB.", "a.meta.json is larger than 1 MB."
    }  # fmt: skip


def test_uploads_go_by_the_rules(place: Place, tmp_path: Path) -> None:
    for number, name in enumerate(("gone", "newer")):
        place.put(f"opened/x/{name}.sqlite", made(tmp_path / f"{name}.sqlite", 3 + number))
    place.put("bad.nsys-rep", "no report")
    place.look()
    of, later = Rules(uploads_days=14), datetime.now(UTC) + timedelta(days=15)
    planned = retention.plan(place.library, place.inbox, of, place.settings, later)
    assert sorted(one.name for one in planned) == ["gone.sqlite", "newer.sqlite"]
    place.put("opened/x/newer.sqlite", made(tmp_path / "other.sqlite", 9))
    done = list(retention.carry_out(place.library, place.inbox, planned))
    assert [one.name for one in done] == ["gone.sqlite"]
    assert sorted(one.key for one in place.bucket.list()) == ["bad.nsys-rep", "opened/x/newer.sqlite"]


@pytest.mark.slow("workers of a team")
@BOTH
def test_workers_of_a_team_take_from_a_bucket(team: Shared, s3: S3, tmp_path: Path) -> None:
    """Inbox and library in buckets, the catalog in PostgreSQL: the worker's disk has only the cache."""
    team_queue.write_traces(tmp_path / "from", 3)
    url, library_url = s3.url(), s3.url()
    bucket = Bucket(url)
    for path in sorted((tmp_path / "from").iterdir()):
        bucket.put(path.name, path)
    bucket.put("00000.meta.json", b'{"workload": "put"}')
    shutil.rmtree(tmp_path / "from")
    done = ingestion.once(
        ["--inbox", url, "--library", library_url, "--samples", "off"],
        {"WARPDECK_DATABASE": team.url, "WARPDECK_DATA": str(tmp_path)},
    )
    assert done.status == 0, done.errors
    states = {job.name: job.state for job in Catalog(team).jobs()}
    assert (len(states), set(states.values())) == (4, {"ready"})
    elsewhere = config.load(library=library_url, database=team.url, data=tmp_path / "other machine")
    library: Library = open_library(elsewhere)
    report = library.find("00000.pt.trace.json")
    with library.cursor(report.id) as cursor:
        assert cursor.execute("SELECT value FROM meta WHERE key = 'workload'").fetchall() == [("put",)]


def test_later_names_and_pending_objects_are_seen_without_a_whole_listing(place: Place, tmp_path: Path) -> None:
    """The next sweep finds names before the last one."""
    for name in ("2026-01-02.sqlite", "2026-01-01.sqlite"):
        place.put(name, b"x")
    inbox = place.inbox
    inbox.renew()
    assert inbox.read_news([]) == []
    place.put("2026-01-03/a.sqlite", b"x")
    place.put("2026-01-01b.sqlite", b"x")
    place.put("2026-01-02.sqlite", b"longer")
    assert inbox.read_news([inbox.root / "2026-01-02.sqlite"]) == [inbox.root / "2026-01-03" / "a.sqlite"]
    states = [inbox.look(inbox.root / name) for name in ("2026-01-02.sqlite", "2026-01-03/a.sqlite")]
    assert [state.bytes for state in states if state] == [6, 1]
    assert inbox.kind_of(inbox.root / "2026-01-03") == "folder"
    place.bucket.delete(["2026-01-03/a.sqlite"])
    assert inbox.read_news([inbox.root / "2026-01-03" / "a.sqlite"]) == []
    assert inbox.look(inbox.root / "2026-01-03" / "a.sqlite") is None
    inbox.renew()
    assert inbox.look(inbox.root / "2026-01-01b.sqlite")
