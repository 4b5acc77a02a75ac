"""The watch waits for files that change, and imports files that were moved into the inbox at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.watch import Watch
from profiledb import sweep_schedule
from profiledb.library.inbox.folder import FolderInbox
from tests.conftest import wait_until

PATIENCE_S = 1000.0
"""Longer than any test: what is taken did not wait for it."""


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    watch = Watch(FolderInbox(inbox), PATIENCE_S)
    watch.start()
    if watch._observer is None:
        pytest.skip("no events of the file system here")
    yield watch
    watch.stop()


def test_what_is_moved_from_a_hidden_name_is_whole(watch: Watch) -> None:
    half = watch.inbox.root / ".upload-1"
    half.write_bytes(b"x")
    watch.finished()
    target = half.replace(watch.inbox.root / "a.sqlite")
    wait_until(lambda: watch.finished() == [target])
    assert not watch.restless


def test_so_is_what_lies_in_a_folder_that_is_moved(watch: Watch) -> None:
    half = watch.inbox.root / ".opening-1"
    half.mkdir()
    (half / "a.sqlite").write_bytes(b"x")
    watch.finished()
    half.replace(watch.inbox.root / "opened")
    wait_until(lambda: watch.finished() == [watch.inbox.root / "opened" / "a.sqlite"])


def test_what_is_written_under_its_name_is_waited_for(watch: Watch) -> None:
    """A whole file follows it, so the events of both have arrived."""
    (watch.inbox.root / "slow.sqlite").write_bytes(b"x")
    half = watch.inbox.root / ".upload-2"
    half.write_bytes(b"x")
    target = half.replace(watch.inbox.root / "a.sqlite")
    wait_until(lambda: watch.finished() == [target])
    assert watch.restless


def test_what_changes_after_it_was_moved_is_waited_for(watch: Watch) -> None:
    half = watch.inbox.root / ".upload-3"
    half.write_bytes(b"x")
    target = half.replace(watch.inbox.root / "a.sqlite")
    wait_until(lambda: watch.finished() == [target])
    target.write_bytes(b"longer")
    assert watch.finished() == []
    assert watch.restless


def test_a_move_from_elsewhere_says_nothing(watch: Watch, tmp_path: Path) -> None:
    """A copying program may use a hidden name outside the inbox and write on."""
    outside = tmp_path / ".hidden.sqlite"
    outside.write_bytes(b"x")
    outside.replace(watch.inbox.root / "slow.sqlite")
    half = watch.inbox.root / ".upload-4"
    half.write_bytes(b"x")
    target = half.replace(watch.inbox.root / "a.sqlite")
    wait_until(lambda: watch.finished() == [target])


def test_between_two_sweeps_only_what_changed_is_looked_at(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_schedule, "CHEAP_S", -1.0)
    monkeypatch.setattr(sweep_schedule, "SHARE", 1e9)
    root = watch.inbox.root
    for name in (".a", ".b", "slow.sqlite"):
        (root / name).write_bytes(b"x")
    old = (root / ".a").replace(root / "a.sqlite")

    def look() -> list[Path]:
        with watch.look() as paths:
            return paths

    wait_until(lambda: look() == [old])
    assert watch.swept is False or look() == []
    new = (root / ".b").replace(root / "b.sqlite")
    wait_until(lambda: look() == [new])
    assert not watch.swept
    assert watch.restless, "the one that is written under its name still counts as unfinished"
    half = root / ".folder"
    (half / "deep").mkdir(parents=True)
    (half / "deep" / "c.sqlite").write_bytes(b"x")
    (half / "deep" / ".hidden.sqlite").write_bytes(b"x")
    half.replace(root / "folder")
    wait_until(lambda: look() == [root / "folder" / "deep" / "c.sqlite"])
    (root / "link.sqlite").symlink_to(old)
    (root / "slow.sqlite").unlink()
    wait_until(lambda: look() == [] and not watch.restless)
    watch.sweeps.make_due()
    assert look() == [old, new, root / "folder" / "deep" / "c.sqlite"]
    assert watch.swept
    assert list(watch.skipped.values()) == ["link"]


def test_a_look_that_failed_is_followed_by_a_sweep(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_schedule, "CHEAP_S", -1.0)
    monkeypatch.setattr(sweep_schedule, "SHARE", 1e9)
    with watch.look():
        pass
    with watch.look():
        assert not watch.swept
    with pytest.raises(ZeroDivisionError), watch.look():
        raise ZeroDivisionError
    with watch.look():
        assert watch.swept
