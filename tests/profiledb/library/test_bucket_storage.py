"""A library in a bucket of a real S3 server: two machines with one catalog, each with its own copies."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from profiledb.errors import DamagedError, ReportNotFoundError, StorageError
from profiledb.findings import rulebook
from profiledb.library import bucket_recovery
from profiledb.library.bucket import object_store
from profiledb.library.bucket.bucket import Bucket, Object
from profiledb.library.bucket.object_index import ObjectIndex, StoredFile
from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.catalog import FILE
from profiledb.library.health import Health
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies.verdicts import judge_and_share
from tests.support.bucket_library import (
    ONE,
    THREE,
    TWO,
    Machine,
    machine,
    no_patience,
    publish,
    store_of,
    total,
)  # fmt: skip
from tests.support.s3 import BOTH, S3

__all__ = ["machine", "no_patience"]  # fixtures


def room(library: Library) -> float:
    """For two and a half reports such as its first, MB."""
    return library.path(ONE).stat().st_size * 2.5e-6


def keys(library: Library) -> list[str]:
    """The objects of the bucket's reports."""
    return [one.key for one in store_of(library).bucket.list() if one.key.startswith("reports/")]


def folders(library: Library) -> set[str]:
    """The folders that this lies in."""
    return {key.split("/")[-2] for key in keys(library)}


@BOTH
def test_a_report_that_one_machine_publishes_is_read_by_another(machine: Machine) -> None:
    here, there = machine(), machine()
    publish(here, ONE, 70)
    assert [one.id for one in there.list()] == [ONE]
    assert there.is_intact(ONE)
    assert not there.path(ONE).exists()
    assert there.report_bytes() == {ONE: here.path(ONE).stat().st_size}, "what it takes in the bucket"
    assert total(there, ONE) == 70
    assert there.path(ONE).read_bytes() == here.path(ONE).read_bytes()
    assert there.stamp(there.path(ONE)) == there.path(ONE).stat().st_mtime_ns == here.path(ONE).stat().st_mtime_ns


def test_what_another_machine_published_a_moment_ago_is_not_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "LISTED_S", 60.0)
    here, there = machine(), machine()
    publish(here, ONE)
    assert there.is_intact(ONE)
    assert store_of(there).files(TWO) == {}
    publish(here, TWO)
    assert store_of(there).files(TWO) == {}, "which it has read before"
    assert there.is_intact(TWO)
    assert not there.is_intact("ffff000000000001")


@BOTH
def test_one_of_several_that_publish_a_report_is_the_one(machine: Machine) -> None:
    machines = [machine() for _ in range(4)]
    threads = [threading.Thread(target=publish, args=(one, ONE, 10 + at)) for at, one in enumerate(machines)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({total(one, ONE) for one in machines}) == 1
    names = [key.partition(".")[2] for key in keys(machines[0])]
    assert sorted(names) == [f"{ONE}.v{SCHEMA_VERSION}.duckdb", f"{ONE}.v{SCHEMA_VERSION}.json"]


@BOTH
def test_a_sidecar_that_another_machine_replaces_is_the_new_one(machine: Machine) -> None:
    here, there = machine(), machine()
    publish(here, ONE)
    assert not there.has_sidecar(ONE, "meta")
    for text in ("one", "two"):
        here.put_sidecar(ONE, "meta", f'{{"x": "{text}"}}')
        assert there.has_sidecar(ONE, "meta")
        with there.cursor(ONE) as cursor:
            assert cursor.execute("SELECT value FROM meta").fetchall() == [(text,)]
    assert len(store_of(here).list_keys(ONE)) == 3


@pytest.mark.parametrize("wrong", ["cut", "other", "empty"])
def test_a_copy_that_is_not_true_is_fetched_again(machine: Machine, wrong: str) -> None:
    publish(machine(), ONE, 70)
    path = machine(folder="there").path(ONE)
    with_copy = machine(folder="there")
    assert total(with_copy, ONE) == 70
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-5], "other": whole[:-5] + b"other", "empty": b""}[wrong])
    assert total(machine(folder="there"), ONE) == 70
    assert path.read_bytes() == whole


def test_damage_of_a_copy_in_use_is_mended(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(machine(), ONE, 70)
    there = machine()
    monkeypatch.setattr(object_store, "FRESH_S", 100.0)
    assert total(there, ONE) == 70
    whole = there.path(ONE).read_bytes()
    for damaged in (b"\0" * 20_000, whole[:30_000]):
        there.path(ONE).write_bytes(damaged)
        assert total(there, ONE) == 70
        assert there.path(ONE).read_bytes() == whole
    state = there.path(ONE).stat()
    there.path(ONE).write_bytes(whole[:12_288] + b"\1" * (len(whole) - 12_288))  # under the time that it had
    os.utime(there.path(ONE), ns=(state.st_atime_ns, state.st_mtime_ns))
    fresh = machine(folder=there.folder.name)
    assert total(fresh, ONE) == 70


def test_what_is_damaged_in_the_bucket_is_told_and_may_be_published_again(machine: Machine, s3: S3) -> None:
    here, there = machine(), machine()
    publish(here, ONE, 70)
    (database,) = (path for path in s3.files(store_of(here).bucket.url) if path.suffix == ".duckdb")
    database.write_bytes(b"\0" * database.stat().st_size)
    with pytest.raises(DamagedError, match=f"{ONE}.rep in the library is damaged"):
        total(there, ONE)
    assert not machine().is_intact(ONE)
    machine().recover()
    assert not machine().is_intact(ONE), "a worker that starts takes it for what it is, and converts its source again"
    assert [one.id for one in here.list()] == [ONE]
    publish(machine(), ONE, 80)
    assert total(there, ONE) == 80
    assert not database.exists()


def test_copies_take_no_more_than_they_may_and_the_oldest_goes_first(machine: Machine) -> None:
    here = machine()
    for report_id in (ONE, TWO, THREE):
        publish(here, report_id, 70, filler=2_000_000)
    there = machine(most_mb=room(here))
    for report_id in (ONE, TWO, ONE, THREE):
        assert total(there, report_id) == 70
        time.sleep(0.02)  # the file systems' times
    assert [there.path(one).exists() for one in (ONE, TWO, THREE)] == [True, False, True]
    assert total(there, TWO) == 70
    assert sum(path.stat().st_size for path in there.reports.iterdir()) <= room(here) * 1e6


def test_what_a_process_has_open_stays(machine: Machine) -> None:
    here = machine()
    for report_id in (ONE, TWO, THREE):
        publish(here, report_id, 70, filler=2_000_000)
    there, beside = (machine(most_mb=room(here), folder="there") for _ in range(2))
    with there.cursor(ONE) as cursor:
        assert [total(beside, one) for one in (TWO, THREE)] == [70, 70]
        assert there.path(ONE).exists()
        assert cursor.execute("SELECT count(*) FROM kernel").fetchall() == [(1,)]


def test_a_lock_that_was_removed_meanwhile_removes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening and taking a lock, another process removes it, and a third one takes it anew."""
    here = machine()
    for report_id in (ONE, TWO):
        publish(here, report_id, 70, filler=2_000_000)
    there, beside = (machine(most_mb=room(here) / 2, folder="there") for _ in range(2))
    assert total(there, ONE) == 70
    store_of(there).copies.close()
    flock, lock = fcntl.flock, there.folder / "locks" / f"{ONE}.use"

    def late(file: int, how: int) -> None:
        if how & fcntl.LOCK_NB and lock.exists():
            lock.unlink()
            store_of(beside).copies.hold(ONE)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert total(there, TWO) == 70
    assert there.path(ONE).exists()


def test_what_one_report_changes_reads_no_others(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    publish(here, ONE, 70)
    monkeypatch.setattr(object_store, "LISTED_S", 100.0)
    assert here.has_sidecar(ONE, "meta") is False
    for name in ("all_files", "list_times", "sum_bytes"):
        monkeypatch.setattr(ObjectIndex, name, lambda *_: pytest.fail("it reads the rows of all reports"))
    here.put_sidecar(ONE, "meta", "{}")
    publish(here, TWO, 80)
    assert here.has_sidecar(ONE, "meta")
    assert here.is_intact(TWO)
    assert all(here.path(one).name in store_of(here).files(one) for one in (ONE, TWO))
    here.delete(ONE)
    assert not here.is_intact(ONE)


def test_many_that_ask_at_once_fetch_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(machine(), ONE, 70, filler=3_000_000)
    fetched: list[str] = []
    fetch = Bucket.fetch

    def counted(self: Bucket, key: str, target: Path) -> str:
        fetched.append(key)
        return fetch(self, key, target)

    monkeypatch.setattr(Bucket, "fetch", counted)
    asking = [machine(folder="there") for _ in range(4)]  # as four processes: they share the folder, and nothing else
    threads = [threading.Thread(target=total, args=(one, ONE)) for one in asking]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched) == 1


def test_a_process_that_ends_while_it_fetches_keeps_nobody(machine: Machine) -> None:
    publish(machine(), ONE, 70)
    there = machine()
    half = there.folder / "fetching" / f"{ONE}.{there.path(ONE).name}"
    half.write_bytes(b"half")
    with (there.folder / "locks" / f"{ONE[:2]}.get").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        thread = threading.Thread(target=there.fetch, args=(ONE,))
        thread.start()
        assert there.fetched_bytes(ONE)[0] == 4
    thread.join()
    assert total(there, ONE) == 70
    assert not half.exists()


@BOTH
def test_a_deleted_report_is_gone_everywhere(machine: Machine) -> None:
    here, there = machine(), machine()
    publish(here, ONE)
    publish(here, TWO)
    here.put_sidecar(ONE, "meta", "{}")
    assert total(there, ONE) == 10
    here.delete(ONE)
    with pytest.raises(ReportNotFoundError):
        total(there, ONE)
    assert not list(there.reports.glob(f"{ONE}*"))
    assert folders(here) == {TWO}
    assert store_of(here).index.files_of(ONE) == {}


def test_the_source_of_a_report_may_go_only_while_the_bucket_has_it(machine: Machine) -> None:
    library = machine()
    publish(library, ONE)
    assert library.is_safe(ONE)
    assert not library.is_safe(TWO)
    (key,) = (key for key in keys(library) if key.endswith(".duckdb"))
    store_of(library).bucket.put(key, b"half")
    assert library.is_intact(ONE), "as the catalog lists it, and the copy here is whole"
    assert not library.is_safe(ONE)
    store_of(library).bucket.delete([key])
    assert not library.is_safe(ONE)


@BOTH
def test_a_bucket_that_does_not_answer(machine: Machine, s3: S3) -> None:
    here, there = machine(), machine()
    publish(here, ONE, 70)
    publish(here, TWO, 80)
    assert total(there, ONE) == 70
    looks = Health(lambda: there, iter(range(0, 100, 10)).__next__)
    assert looks.parts() == {"database": "ok", "store": "ok"}
    s3.stop()
    assert looks.parts() == {"database": "ok", "store": "missing"}
    assert total(there, ONE) == 70
    with pytest.raises(StorageError) as told:
        total(there, TWO)
    assert told.value.message == f"{TWO}.rep cannot be fetched. The bucket warpdeck-tests does not answer."
    with pytest.raises(StorageError):
        here.delete(ONE)
    with pytest.raises(StorageError):
        publish(here, THREE)
    assert {one.id for one in here.list()} == {ONE, TWO}
    s3.start()
    assert total(there, TWO) == 80
    publish(here, THREE, 90)
    assert total(there, THREE) == 90


@BOTH
def test_errors_hold_no_secret(machine: Machine, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(machine(), ONE)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
    with pytest.raises(StorageError) as told:
        list(Bucket(s3.url()).list())
    assert told.value.message == "The bucket warpdeck-tests refuses the keys of this server."
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://somebody:password@127.0.0.1:9")
    with pytest.raises(StorageError) as told:
        Bucket(s3.url()).put("x", b"y")
    assert "password" not in f"{told.value} {told.value.hint} {told.value.__cause__}"


@BOTH
def test_a_catalog_that_is_lost_is_made_from_the_bucket(machine: Machine, tmp_path: Path) -> None:
    here = machine()
    publish(here, ONE, 70)
    publish(here, TWO, 80)
    here.put_sidecar(ONE, "meta", '{"x": "1"}')
    (tmp_path / FILE).unlink()
    there = machine()
    assert there.list() == []
    there.recover()
    assert {one.id for one in there.list()} == {ONE, TWO}
    assert total(there, TWO) == 80
    with there.cursor(ONE) as cursor:
        assert cursor.execute("SELECT value FROM meta").fetchall() == [("1",)]


@BOTH
def test_recovery_goes_on_from_wherever_publishing_stopped(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    publish(here, ONE)
    listed, unlisted, lost = ONE, TWO, THREE
    publish(here, unlisted)
    here.catalog.unlist_report(unlisted)  # its row was written, and the process ended
    publish(here, lost)
    store_of(here).bucket.delete(store_of(here).list_keys(lost))  # somebody removed its objects
    left = store_of(here).bucket
    left.put(
        StoredFile("dddd000000000004", "dddd000000000004.v5.duckdb", 1, "0" * 64, 1).key, b"x"
    )  # without a manifest
    monkeypatch.setattr(bucket_recovery, "LEFT_S", -5.0)
    here.recover()
    assert {one.id for one in here.list()} == {listed, unlisted}
    assert folders(here) == {listed, unlisted}
    assert len(keys(here)) == 4


def test_what_is_published_during_a_recovery_stays_listed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = machine(), machine()
    find = bucket_recovery._find_objects

    def publish_after(store: ObjectStore) -> dict[str, dict[str, Object]]:
        found = find(store)
        publish(there, ONE)
        return found

    monkeypatch.setattr(bucket_recovery, "_find_objects", publish_after)
    here.recover()
    assert [one.id for one in here.list()] == [ONE]


def test_what_was_prepared_while_its_report_was_deleted_goes(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine()
    publish(here, ONE)
    here.delete(ONE)
    (tmp_path / "findings.json").write_text("{}")
    store_of(here).put(ONE, "findings.json", tmp_path / "findings.json")
    here.recover()
    assert len(keys(here)) == 1, "somebody may be putting a report"
    monkeypatch.setattr(bucket_recovery, "LEFT_S", -5.0)
    here.recover()
    assert keys(here) == []
    assert store_of(here).index.all_files() == {}


def test_prepared_answers_come_along(machine: Machine) -> None:
    here, there = machine(), machine()
    publish(here, ONE)
    folder = here.derived.answers / ONE
    folder.mkdir(parents=True)
    (folder / f"{'a' * 40}.answer").write_bytes(b"an answer")
    (folder / "findings.json").write_text("{}")
    here.share_prepared(ONE)
    objects = store_of(here).list_keys(ONE)
    here.share_prepared(ONE)
    assert store_of(here).list_keys(ONE) == objects
    there.fetch(ONE)
    assert (there.derived.answers / ONE / f"{'a' * 40}.answer").read_bytes() == b"an answer"
    assert (there.derived.answers / ONE / "findings.json").read_text() == "{}"
    third = machine()
    third.fetch_in_background(ONE, "findings.json")
    path = third.derived.answers / ONE / "findings.json"
    limit = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert third.stamp(path) == path.stat().st_mtime_ns


def test_verdicts_of_one_server_reach_another(machine: Machine) -> None:
    here, there = machine(), machine()
    report, rules = publish(here, ONE), rulebook.load().values()
    judge_and_share(here, report, {}, rules, None)
    there.fetch(ONE)
    stored = {path.name: path.read_bytes() for path in (here.derived.answers / ONE).glob("*.answer")}
    assert stored
    assert {path.name: path.read_bytes() for path in (there.derived.answers / ONE).glob("*.answer")} == stored
    objects = store_of(here).list_keys(ONE)
    for library in (here, there):
        judge_and_share(library, report, {}, rules, None)
    assert store_of(here).list_keys(ONE) == objects, "nothing is new"


def answer(library: Library, report_id: str, size: int) -> None:
    """Has an answer of so many bytes put into the bucket, as a worker does."""
    folder = library.derived.answers / report_id
    folder.mkdir(parents=True)
    (folder / f"{report_id}{'a' * 24}.answer").write_bytes(os.urandom(size))
    library.share_prepared(report_id)


def kept(library: Library) -> dict[str, int]:
    """Bytes of the answers of each report that has any."""
    paths = sorted(library.derived.answers.glob("*/*.answer"))
    return {path.parent.name: path.stat().st_size for path in paths}


def test_prepared_answers_take_no_more_than_they_may(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, other = machine(), machine(), machine()
    for report_id in (ONE, TWO, THREE):
        publish(here, report_id)
        answer(here, report_id, 400_000)
    monkeypatch.setenv("WARPDECK_ANSWERS_MB", "1")
    for report_id in (ONE, TWO, THREE):
        there.fetch(report_id)
        time.sleep(0.02)  # the file systems' times
    assert kept(there) == {TWO: 400_000, THREE: 400_000}
    monkeypatch.setenv("WARPDECK_ANSWERS_MB", "0")
    other.fetch(ONE)
    assert other.path(ONE).exists()
    assert kept(other) == {}


def test_answers_go_with_the_copies(machine: Machine) -> None:
    here = machine()
    for report_id in (ONE, TWO):
        publish(here, report_id, 70, filler=2_000_000)
        answer(here, report_id, 1_000)
    there = machine(most_mb=room(here) / 2)
    assert (total(there, ONE), kept(there)) == (70, {ONE: 1_000})
    store_of(there).copies.close()
    assert (total(there, TWO), kept(there)) == (70, {TWO: 1_000})
    assert not (there.derived.answers / ONE).exists()
    assert {path.name for path in (there.folder / "locks").iterdir()} == {f"{TWO}.use", "aa.get", "bb.get"}
    assert (total(there, ONE), kept(there)) == (70, {ONE: 1_000}), "they come again with their report"
