"""A team's database belongs to one library: a worker of another one changes nothing."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb.errors import ConfigError
from profiledb.library import library_id, migrations
from profiledb.library.catalog import Catalog, Job
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.library.postgres import Postgres
from tests.profiledb.library.test_library import publish
from tests.support.bucket_library import open_in_bucket
from tests.support.s3 import S3

ONE = "aaaa000000000001"
Opened = Callable[[str], Library]


@pytest.fixture(params=["folder", "bucket"])
def opened(request: pytest.FixtureRequest, team: Shared, tmp_path: Path) -> Opened:
    """Opens libraries with the same catalog, each name elsewhere."""
    catalog = Catalog(team)
    if request.param == "folder":
        return lambda name: Library(tmp_path / name, catalog)
    s3: S3 = request.getfixturevalue("s3")
    base = s3.url()
    return lambda name: open_in_bucket(tmp_path / name, catalog, f"{base}/{name}")


def test_a_worker_with_another_library_changes_nothing(opened: Opened, team: Shared) -> None:
    library = opened("right")
    library.recover()
    publish(library, ONE)
    library.catalog.set_labels(ONE, ["keep"])
    library.catalog.put_job(Job("/inbox/a", "a", "1", "ready", report_id=ONE))
    with pytest.raises(ConfigError, match="is not the library of this database") as caught:
        opened("wrong").recover()
    library.recover()
    assert library.catalog.report_ids() == [ONE]
    assert library.catalog.labels() == {ONE: ["keep"]}
    assert library.catalog.job_states() == {"ready": 1}
    moved = opened("wrong")
    number = library.storage.read_text(library_id.NAME)
    assert number in caught.value.hint
    moved.storage.write_text(library_id.NAME, number)
    moved.recover()
    assert moved.catalog.labels() == {ONE: ["keep"]}, "what is lost is converted again, and has its labels then"
    migrations.move(team.url, "0006")
    migrations.move(team.url)
    opened("right").recover()
    assert library.storage.read_text(library_id.NAME) == number, "the number beside the reports is the one"
    with pytest.raises(ConfigError):
        opened("third").recover()


def test_several_that_begin_at_once_agree(team: Shared, tmp_path: Path) -> None:
    libraries = [Library(tmp_path / "library", Catalog(Postgres(team.url))) for _ in range(4)]
    failed: list[Exception] = []

    def begin(library: Library) -> None:
        try:
            library_id.require(library.storage, library.catalog.shared)
        except Exception as error:  # noqa: BLE001 - of whichever kind
            failed.append(error)

    threads = [threading.Thread(target=begin, args=[library]) for library in libraries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    number = libraries[0].storage.read_text(library_id.NAME)
    assert number
    with team.connect("") as db:
        assert [row["id"] for row in db.execute("SELECT id FROM library")] == [number]


def test_a_folder_needs_none(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.recover()
    assert library.storage.read_text(library_id.NAME) == ""
