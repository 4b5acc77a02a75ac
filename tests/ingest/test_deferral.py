"""When each deferred file is tried again."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from ingest.deferred_files import AGAIN_S, MORE_BYTES, STATE, Deferrals
from profiledb.library.catalog import Job


@dataclass
class Machine:
    """A clock and a disk that a test turns on."""

    now: float = 0.0
    free: int = 100 << 20
    waits: Deferrals = field(init=False)

    def __post_init__(self) -> None:
        self.waits = Deferrals(lambda: self.now, lambda _: self.free)

    def retried(self, *jobs: Job) -> list[str]:
        return [job.path for job in jobs if self.waits.retry(job, Path())]


def job(name: str) -> Job:
    return Job(name, name, "1:1", STATE)


def test_all_are_tried_where_there_is_more_room() -> None:
    machine, a, b = Machine(), job("a"), job("b")
    assert machine.retried(a, b) == ["a", "b"], "a worker that starts anew tries at once"
    machine.waits.note(a, Path())
    machine.waits.note(b, Path())
    machine.free += MORE_BYTES
    assert machine.retried(a, b) == [], "others write and remove on a disk, too: a part of what was free tells nothing"
    machine.free += MORE_BYTES
    assert machine.retried(a, b) == ["a", "b"]


def test_where_nothing_tells_of_room_one_at_a_time_is_tried() -> None:
    """For example, with a quota; the file that has waited longest comes first, and a deleted file delays no other."""
    machine, a, b, c = Machine(), job("a"), job("b"), job("c")
    for one in (a, b, c):
        machine.waits.note(one, Path())
        machine.now += 1
    machine.now = AGAIN_S
    assert machine.retried(c, b, a) == ["a"]
    machine.waits.note(a, Path())
    machine.now += AGAIN_S - 1
    assert machine.retried(a, b, c) == []
    machine.waits.forget("b")
    machine.now += 1
    assert machine.retried(a, c) == ["c"]
    machine.waits.note(replace(c, state="ready", report_id="c"), Path())
    assert machine.retried(a) == ["a"], "what one of them waited for has come"
