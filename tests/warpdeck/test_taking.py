"""Files on their way into the inbox: names, sidecars, and files that are already known."""

import os
import re
from pathlib import Path

import pytest

from ingest.file_state import hash_contents
from profiledb.errors import ConversionError
from profiledb.library.catalog import Job
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from tests.profiledb.library.test_library import publish
from warpdeck import inbox_copy, sources


def written(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def take(path: Path, library: Library, inbox: Path) -> Path:
    job = inbox_copy.copy_source(path, library, FolderInbox(inbox)).job
    assert job is not None
    return job


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_with_what_lies_beside_it(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.nsys-rep", "report")
    for name in ("my.sqlite", "my.meta.json", "my.nvml.csv", "my.csv", "my.txt", "other.meta.json", "my.json"):
        written(tmp_path / name, name)
    job = take(source, empty_library, inbox)
    assert job == inbox / "opened" / hash_contents(source)[:16] / "my.nsys-rep"
    assert job.read_text() == "report"
    assert names(job.parent) == ["my.csv", "my.meta.json", "my.nsys-rep", "my.nvml.csv", "my.sqlite"]
    assert names(inbox) == ["opened"]  # nothing half is left
    assert source.exists()


def test_what_lies_beside_a_trace_comes_with_it(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.pt.trace.json.gz")
    for name in ("my.meta.json", "my.timings.csv", "my.pt.meta.json", "other.meta.json"):
        written(tmp_path / name)
    job = take(source, empty_library, inbox)
    assert names(job.parent) == ["my.meta.json", "my.pt.trace.json.gz", "my.timings.csv"]


def test_the_original_may_change_afterward(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.nsys-rep", "before")
    job = take(source, empty_library, inbox)
    written(source, "after")
    assert job.read_text() == "before"


def test_two_files_of_one_name_do_not_meet(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    jobs = [take(written(tmp_path / folder / "x.csv", folder), empty_library, inbox) for folder in ("a", "b")]
    assert [job.name for job in jobs] == ["x.csv", "x.csv"]
    assert [job.read_text() for job in jobs] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("-rf.nsys-rep", "rf.nsys-rep"),
        (".hidden.nsys-rep", "hidden.nsys-rep"),
        ("a\nb\x1b[31m.nsys-rep", "a b [31m.nsys-rep"),
        ("$(id)'\";.nsys-rep", "$(id)'\";.nsys-rep"),
    ],
)
def test_names_are_made_harmless(name: str, safe: str, tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "from" / name)
    written(source.with_name(f"{source.stem}.meta.json"), "{}")
    job = take(source, empty_library, inbox)
    assert job.name == safe
    assert names(job.parent) == sorted([safe, f"{job.stem}.meta.json"])


@pytest.mark.parametrize("name", ["x.nsys-rep.part", "x.tmp", "x~", "@kernels", "run.energy.csv"])
def test_a_name_that_the_worker_passes_over_is_refused(
    name: str, tmp_path: Path, empty_library: Library, inbox: Path
) -> None:
    with pytest.raises(ConversionError, match=re.escape(name)) as refused:
        take(written(tmp_path / "from" / name), empty_library, inbox)
    assert refused.value.hint
    assert not [*inbox.rglob("*")]


def test_a_name_in_another_encoding(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.nsys-rep"))
    source.write_text("x")
    assert take(source, empty_library, inbox).name == "?.nsys-rep"


def test_a_name_that_leaves_no_room_for_others(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / ("é" * 123 + ".nsys-rep"))
    assert sources.list_sources([source, tmp_path / ("x" * 300)]) == [source, tmp_path / ("x" * 300)]
    assert take(source, empty_library, inbox).name == source.name
    with pytest.raises(ConversionError, match="There is no file"):
        inbox_copy.copy_source(tmp_path / ("x" * 300), empty_library, FolderInbox(inbox))


def test_what_the_library_has_is_not_copied(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.nsys-rep")
    publish(empty_library, hash_contents(source)[:16])
    assert inbox_copy.copy_source(source, empty_library, FolderInbox(inbox)).job is None
    assert not (inbox / "opened").exists()
    written(tmp_path / "my.meta.json", "{}")
    assert (
        inbox_copy.copy_source(source, empty_library, FolderInbox(inbox)).job is None
    )  # shown at once, while the facts come after
    assert names(inbox / "opened" / hash_contents(source)[:16]) == ["my.meta.json", "my.nsys-rep"]


@pytest.mark.parametrize("state", ["failed", "deleted", "deferred"])
def test_opened_again_it_is_tried_again(state: str, tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.nsys-rep")
    job = take(source, empty_library, inbox)
    empty_library.catalog.put_job(Job(str(job), job.name, "1:1", state))
    written(tmp_path / "my.meta.json", "{}")
    assert take(source, empty_library, inbox) == job
    assert empty_library.catalog.job(str(job)) is None
    assert names(job.parent) == ["my.meta.json", "my.nsys-rep"]


def test_what_is_being_read_is_left_alone(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    source = written(tmp_path / "my.nsys-rep")
    job = take(source, empty_library, inbox)
    empty_library.catalog.put_job(Job(str(job), job.name, "1:1", "converting"))
    take(source, empty_library, inbox)
    assert empty_library.catalog.job(str(job))


def test_a_file_of_the_inbox_stays_where_it_is(empty_library: Library, inbox: Path) -> None:
    source = written(inbox / "runs" / "my.nsys-rep")
    assert take(source, empty_library, inbox) == source
    link = inbox.parent / "link"
    link.symlink_to(inbox)
    assert take(link / "runs" / "my.nsys-rep", empty_library, inbox) == source  # as the worker spells it
    hidden = written(inbox / ".uploads" / "my.nsys-rep", "y")
    assert take(hidden, empty_library, inbox) != hidden


def test_a_folder_of_parquet_is_one_report(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    folder = tmp_path / "export"
    for name in ("StringIds.parquet", "TARGET_INFO_GPU.parquet", "note.txt"):
        written(folder / name)
    job = take(folder, empty_library, inbox)
    assert names(job) == ["StringIds.parquet", "TARGET_INFO_GPU.parquet"]
    assert take(folder, empty_library, inbox) == job


def test_what_is_no_file_is_said(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in ((tmp_path / "no", "There is no file"), (tmp_path, "is a folder"), (pipe, "not a regular file")):
        with pytest.raises(ConversionError, match=words):
            inbox_copy.copy_source(path, empty_library, FolderInbox(inbox))


def test_each_source_comes_once(tmp_path: Path) -> None:
    report, export, log = (written(tmp_path / name) for name in ("a.nsys-rep", "a.sqlite", "a.nvml.csv"))
    alone = written(tmp_path / "b.nvml.csv")
    given = [log, export, report, tmp_path / "." / "a.nsys-rep", alone, tmp_path / "no"]
    assert sources.list_sources(given) == [report, alone, tmp_path / "no"]
    assert sources.list_sources([export]) == [export]


def test_what_a_killed_command_left_is_swept_after_a_day(tmp_path: Path, empty_library: Library, inbox: Path) -> None:
    old, new = inbox / ".open-old", inbox / ".open-new"
    for folder in (old, new):
        written(folder / "x")
    os.utime(old, (0, 0))
    take(written(tmp_path / "my.nsys-rep"), empty_library, inbox)
    assert (old.exists(), new.exists()) == (False, True)
