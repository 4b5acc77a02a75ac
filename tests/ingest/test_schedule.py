"""The schedule: which files convert in parallel, and which wait for others."""

import threading
from pathlib import Path

import pytest

from ingest import schedule
from ingest.command import SAMPLES_AT_ONCE, SampleBatches
from ingest.conversion import limits
from profiledb.library.catalog import Job
from profiledb.library.inbox.folder import FolderInbox

PATIENCE_S = 20
INBOX = FolderInbox(Path())


def jobs(folder: Path, **sizes: int) -> list[Job]:
    """Files of some sizes in bytes, of which no more than the size is there."""
    for name, size in sizes.items():
        with (folder / name).open("wb") as file:
            file.truncate(size)
    return [Job(str(folder / name), name, "", "waiting") for name in sizes]


class Work:
    """Records conversions that run at the same time; ``together`` of them wait for each other."""

    def __init__(self, together: int = 1) -> None:
        self.running: set[str] = set()
        self.seen: list[set[str]] = []
        self._met = threading.Barrier(together)
        self._lock = threading.Lock()

    def __call__(self, job: Job) -> int:
        with self._lock:
            self.running.add(job.name)
        self._met.wait(PATIENCE_S)
        with self._lock:
            self.seen.append(set(self.running))
            self.running.discard(job.name)
        return 1


def test_small_files_are_worked_on_at_the_same_time(tmp_path: Path) -> None:
    work = Work(together=2)
    assert schedule.run_jobs(jobs(tmp_path, a=1, b=2), INBOX, work, pytest.fail, most=2) == 2
    assert {"a", "b"} in work.seen


def test_a_large_file_is_alone(tmp_path: Path) -> None:
    work = Work()
    large = limits.SMALL_BYTES + 1
    assert schedule.run_jobs(jobs(tmp_path, a=1, b=large, c=2, d=large + 1, e=3), INBOX, work, pytest.fail, most=4) == 5
    for seen in work.seen:
        assert seen in ({"b"}, {"d"}) or not seen & {"b", "d"}


def test_files_of_the_same_size_may_be_the_same(tmp_path: Path) -> None:
    work = Work()
    assert schedule.run_jobs(jobs(tmp_path, a=7, b=7, c=7), INBOX, work, pytest.fail, most=3) == 3
    assert sorted(map(sorted, work.seen)) == [["a"], ["b"], ["c"]]


def test_an_error_leaves_the_others_to_their_end(tmp_path: Path) -> None:
    ended = threading.Event()

    def work(job: Job) -> int:
        if job.name == "a":
            raise OSError("the disk of the catalog")
        ended.set()
        return 1

    with pytest.raises(OSError, match="the disk"):
        schedule.run_jobs(jobs(tmp_path, b=1, a=2), INBOX, work, pytest.fail, most=2)
    assert ended.is_set()


def test_an_interrupt_stops_what_runs(tmp_path: Path) -> None:
    stopped = threading.Event()

    def work(job: Job) -> int:
        if job.name == "a":
            raise KeyboardInterrupt
        assert stopped.wait(PATIENCE_S)
        return 1

    with pytest.raises(KeyboardInterrupt):
        schedule.run_jobs(jobs(tmp_path, a=1, b=2), INBOX, work, stopped.set, most=2)
    assert stopped.is_set()


def test_a_packed_report_counts_as_what_it_unpacks_to() -> None:
    size = limits.SMALL_BYTES // 2
    assert limits.is_small(Path("a.sqlite"), size)
    assert not limits.is_small(Path("a.nsys-rep"), size)


def test_samples_come_a_few_at_a_time_and_then_all() -> None:
    reports = [Path(f"{number}.sqlite") for number in range(2 * SAMPLES_AT_ONCE + 1)]
    beside = [Path("0.timings.csv")]
    samples = SampleBatches(reports + beside)
    parts = []
    while samples.left:
        parts.append(samples.next_batch())
    assert [len(part) for part in parts] == [SAMPLES_AT_ONCE, SAMPLES_AT_ONCE, 1]
    assert [path for part in parts for path in part] == reports
    assert samples.next_batch() == reports + beside
