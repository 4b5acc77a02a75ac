"""The worker: files that it imports, files that it leaves alone, and repair after a crash."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ingest import fingerprints, tools
from ingest.deferred_files import AGAIN_S, STATE, Deferrals
from ingest.watch import Watch
from ingest.worker import Worker
from profiledb import config, sweep_schedule
from profiledb.library.catalog import Job
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import CORPUS, SAMPLES, Ingest, is_converting, wait_until
from tests.support.dropped_files import SAMPLE, made, needs_corpus, stand_in
from tests.support.processes import processes_in, start_worker


@pytest.mark.integration
@pytest.mark.parametrize(
    "names", ["transformer_inference", pytest.param("transformer_", marks=pytest.mark.slow("takes large samples in"))]
)
def test_samples_load_without_any_converter(ingest: Ingest, inbox: Path, empty_library: Library, names: str) -> None:
    for path in SAMPLES.glob(f"{names}*"):
        shutil.copy(path, inbox)
    done = ingest(inbox, empty_library.folder, "--strict", WARPDECK_NSYS="off", WARPDECK_NCU="off")
    assert done.status == 0, done.lines
    loaded = {m.name for m in empty_library.list()}
    assert loaded == {p.name for p in SAMPLES.glob(f"{names}*rep")}
    assert {Path(name).suffix for name in loaded} == {".nsys-rep", ".ncu-rep"}


def test_a_family_of_samples_lies_in_a_folder_of_its_own(tmp_path: Path, empty_library: Library) -> None:
    samples = tmp_path / "samples"
    for folder in ("family", "oracle/single"):
        (samples / folder).mkdir(parents=True)
    made(samples / "single.sqlite")
    made(samples / "family" / "rank0.sqlite", 3)
    (samples / "family" / "rank0.timings.csv").write_text("label,step,seconds\nstep,0,1\n")
    (samples / "oracle" / "single" / "kernels.csv").write_text("name\n")
    worker = Worker(
        empty_library,
        config.load(samples=samples, library=empty_library.folder),
        FolderInbox(tmp_path / "inbox"),
        print,
    )
    worker.prepare()
    worker.take(worker.samples())
    assert {m.name: m.sample for m in empty_library.list()} == {"single.sqlite": True, "rank0.sqlite": True}
    assert {job.name: job.state for job in empty_library.catalog.jobs()}["rank0.timings.csv"] == "ready"


def test_a_sweep_asks_once_for_the_files_of_many_reports(
    inbox: Path, empty_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query for each took a sweep of 50,000 files from 5 to 17 s of processor."""
    paths = [made(inbox / f"{number}.sqlite", 2 + number) for number in range(3)]
    worker = Worker(empty_library, config.load(inbox=inbox, library=empty_library.folder), FolderInbox(inbox), print)
    assert worker.take(paths) == 3
    asked: list[set[str]] = []
    monkeypatch.setattr(empty_library.storage, "look_at", asked.append)
    assert worker.take(paths) == 0
    assert asked == [{report.id for report in empty_library.list()}]


def test_a_deferred_export_that_turns_out_to_be_a_companion_holds_up_no_other_file(
    inbox: Path, empty_library: Library
) -> None:
    """Deferred files are tried one at a time, the one that has waited longest first."""
    paths = [Path(shutil.copy(SAMPLES / f"streams_serial{ending}", inbox)) for ending in (".nsys-rep", ".sqlite")]
    now = 0.0
    deferrals = Deferrals(lambda: now, lambda _: 0)
    other = Job(str(inbox / "other.sqlite"), "other.sqlite", "1:1", STATE)
    for job in (Job(str(paths[1]), paths[1].name, "1:1", STATE), other):
        deferrals.note(job, empty_library.folder)
    settings = config.load(inbox=inbox, library=empty_library.folder)
    Worker(empty_library, settings, FolderInbox(inbox), print, _deferrals=deferrals).take(paths)
    assert {job.name: job.state for job in empty_library.catalog.jobs()}[paths[1].name] == "companion"
    now = AGAIN_S
    assert deferrals.retry(other, empty_library.folder)


def test_same_content_under_two_names_is_one_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(made(inbox / "a.sqlite"), inbox / "b.sqlite")
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[:2] for line in done.lines] == [["ready", "a.sqlite"], ["duplicate", "b.sqlite"]]
    assert len(empty_library.list()) == 1


@pytest.mark.integration
def test_new_content_under_one_name_is_a_new_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    for end in (2, 3):
        (inbox / "a.sqlite").unlink(missing_ok=True)
        made(inbox / "a.sqlite", end)
        ingest(inbox, empty_library.folder)
    first, second = sorted(empty_library.list(), key=lambda m: m.ingested_at)
    assert first.name == second.name == "a.sqlite"
    assert first.id != second.id


def test_odd_names_are_only_names(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    names = {"a b'c\"d;$(touch x).sqlite", "-rf.sqlite", "zä\N{RIGHT-TO-LEFT OVERRIDE}.sqlite", "x" * 240 + ".sqlite"}
    for number, name in enumerate(sorted(names), 2):
        made(inbox / name, number)
    assert [line.split()[0] for line in ingest(inbox, empty_library.folder).lines] == ["ready"] * len(names)
    assert {report.name for report in empty_library.list()} == names


@pytest.mark.nsight
@needs_corpus
def test_nsys_reads_reports_whose_names_have_spaces(ingest: Ingest, empty_library: Library, tmp_path: Path) -> None:
    inbox = tmp_path / "an inbox"
    inbox.mkdir()
    shutil.copy(CORPUS / "streams_4090.nsys-rep", inbox / "-my report (2).nsys-rep")
    done = ingest(inbox, tmp_path / "the library")
    assert done.lines[0].startswith("ready"), done.lines


def test_what_is_no_file_is_passed_over(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    os.mkfifo(inbox / "pipe.nsys-rep")
    (inbox / "loop").symlink_to(inbox)
    (inbox / "outside.sqlite").symlink_to(made(tmp_path / "outside.sqlite"))
    (inbox / ".hidden.sqlite").write_bytes(b"x")
    (inbox / os.fsdecode(b"caf\xe9.sqlite")).write_bytes(b"x")
    (inbox / "coming.nsys-rep.part").write_bytes(b"x")
    assert ingest(inbox, empty_library.folder).lines == []


def test_folders_are_searched(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "team" / "run 1").mkdir(parents=True)
    made(inbox / "team" / "run 1" / "a.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")


@pytest.mark.integration
def test_deleted_stays_deleted_until_the_file_changes(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    path = made(inbox / "a.sqlite")
    ingest(inbox, empty_library.folder)
    empty_library.delete(empty_library.list()[0].id)
    assert ingest(inbox, empty_library.folder).lines == []
    os.utime(path)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")


@pytest.mark.integration
def test_a_second_worker_leaves_the_first_alone(inbox: Path, empty_library: Library, ingest: Ingest) -> None:
    worker = start_worker(inbox, empty_library)
    try:
        made(inbox / "a.sqlite")
        wait_until(lambda: bool(empty_library.list()))
        done = ingest(inbox, empty_library.folder)
        assert (done.status, "Another worker" in done.errors) == (3, True)
    finally:
        worker.kill()
        worker.wait()
    assert ingest(inbox, empty_library.folder).status == 0, "the lock ended with the worker"


@pytest.mark.integration
def test_the_worker_ends_with_whoever_started_it(inbox: Path, empty_library: Library) -> None:
    worker = start_worker(inbox, empty_library, "--until-stdin-closes", stdin=subprocess.PIPE)
    made(inbox / "a.sqlite")
    wait_until(lambda: bool(empty_library.list()))
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=30) == 0


@pytest.mark.integration
def test_kill_9_in_the_middle_leaves_nothing_half(
    inbox: Path, empty_library: Library, tmp_path: Path, ingest: Ingest
) -> None:
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(stand_in(tmp_path, "sleep 600")))
    wait_until(lambda: is_converting(empty_library))
    worker.kill()
    worker.wait()
    wait_until(lambda: not processes_in(empty_library.work), seconds=10)
    assert empty_library.list() == []
    shutil.copy(SAMPLES / "transformer_training.sqlite", inbox / "a.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert list(empty_library.work.iterdir()) == []


def test_a_report_published_before_the_crash_is_listed_after_it(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    made(inbox / "a.sqlite")
    ingest(inbox, empty_library.folder)
    (empty_library.folder / "catalog.sqlite").unlink()
    again = Library(empty_library.folder)
    assert again.list() == []
    assert [line.split()[0] for line in ingest(inbox, again.folder).lines] == ["duplicate"]
    assert [m.name for m in again.list()] == ["a.sqlite"]


def test_a_vanished_inbox_deletes_nothing(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "a.sqlite")
    (inbox / "bad.sqlite").write_bytes(b"x")
    ingest(inbox, empty_library.folder)
    shutil.rmtree(inbox)
    ingest(inbox, empty_library.folder)
    assert len(empty_library.list()) == 1


@pytest.mark.integration
def test_a_growing_file_is_left_alone_until_it_stands_still(
    inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = made(tmp_path / "whole.sqlite").read_bytes()
    worker = start_worker(inbox, empty_library, WARPDECK_SCAN_S="0.5")
    try:
        with (inbox / "slow.sqlite").open("wb", buffering=0) as file:
            for begin in range(0, len(whole), 1 + len(whole) // 20):
                file.write(whole[begin : begin + 1 + len(whole) // 20])
                assert empty_library.catalog.job(str(inbox / "slow.sqlite")) is None
                time.sleep(0.1)  # the pace of the writer, which is what is tested
        wait_until(lambda: bool(empty_library.list()))
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0


@pytest.mark.integration
def test_two_thousand_files_are_looked_at_in_a_moment(inbox: Path, empty_library: Library) -> None:
    files = 2_000
    for number in range(files):
        (inbox / f"{number}.txt").write_bytes(b"x")
    worker = Worker(empty_library, config.load(inbox=inbox, library=empty_library.folder), FolderInbox(inbox), print)
    watch = Watch(worker.inbox, patience_s=0)
    wait_until(lambda: len(watch.finished()) == files)
    done = [
        Job(
            str(path),
            path.name,
            fingerprints.make_fingerprint(worker.inbox, path) or "",
            "failed",
            tools=tools.list_converter_labels(),
        )
        for path in watch.finished()
    ]
    empty_library.catalog.put_job(*done)
    started = time.process_time()  # a busy machine makes it wait, but not work
    assert worker.take(watch.finished()) == 0, "all of them are known"
    assert time.process_time() - started < files / 2_000


@pytest.mark.integration
def test_looks_between_two_sweeps_take_in_what_is_new(
    inbox: Path, empty_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report, a sidecar that came before it, and a file that somebody wants to try again."""
    monkeypatch.setattr(sweep_schedule, "CHEAP_S", -1.0)
    monkeypatch.setattr(sweep_schedule, "SHARE", 1e9)
    inbox.mkdir(exist_ok=True)
    worker = Worker(empty_library, config.load(inbox=inbox, samples="off"), FolderInbox(inbox), lambda _: None)
    watch = Watch(worker.inbox, patience_s=0)
    watch.start()
    try:
        if watch._observer is None:
            pytest.skip("no events of the file system here")
        worker.look(watch, [])

        def state_of(name: str) -> str:
            worker.look(watch, [])
            job = empty_library.catalog.job(str(inbox / name))
            return job.state if job else ""

        (inbox / ".half").write_text('{"workload": "put"}')
        (inbox / ".half").rename(inbox / "one.meta.json")
        wait_until(lambda: state_of("one.meta.json") == "alone")
        shutil.copyfile(SAMPLES / "transformer_inference.sqlite", inbox / ".half")
        (inbox / ".half").rename(inbox / "one.sqlite")
        wait_until(lambda: state_of("one.sqlite") == "ready")
        wait_until(lambda: state_of("one.meta.json") == "ready")
        assert not watch.swept
        (report,) = empty_library.list()
        assert empty_library.has_sidecar(report.id, "meta")
        empty_library.catalog.forget_job(str(inbox / "one.sqlite"), asked=True)
        wait_until(lambda: state_of("one.sqlite") in ("ready", "duplicate"))
    finally:
        watch.stop()
        worker.stop()


@pytest.mark.integration
def test_a_report_of_an_older_schema_is_converted_again(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copyfile(SAMPLES / "transformer_inference.sqlite", inbox / "one.sqlite")
    assert ingest(inbox, empty_library.folder).status == 0
    (report,) = empty_library.list()
    empty_library.catalog.set_labels(report.id, ["kept"])
    for path in (empty_library.path(report.id), empty_library.manifest_path(report.id)):
        path.rename(path.with_name(path.name.replace(f".v{SCHEMA_VERSION}.", ".v0.")))
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert [found.id for found in empty_library.list()] == [report.id]
    assert empty_library.catalog.labels() == {report.id: ["kept"]}
    assert not list(empty_library.reports.glob("*.v0.*"))
