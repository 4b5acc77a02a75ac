"""The workers of a team, and the converters that each has."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from profiledb.library.database import Shared

ALIVE_S = 30
"""Seconds after which an unseen worker counts as gone, by the database's clock: those of machines may differ."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class WorkerInfo:
    """A worker: its machine and the versions of its converters, empty for none."""

    id: str
    host: str
    nsys: str
    ncu: str


class Workers:
    """The workers of a team's database."""

    def __init__(self, shared: Shared) -> None:
        self._connect = shared.connect

    def all(self) -> list[WorkerInfo]:
        """Return the workers that are alive."""
        with self._connect() as db:
            rows = db.execute(
                "SELECT id, host, nsys, ncu FROM worker WHERE seen_at > now() - make_interval(secs => ?)"
                " ORDER BY host, id LIMIT 1000",
                [ALIVE_S],
            ).fetchall()
        return [WorkerInfo(*row) for row in rows]

    def seen(self, one: WorkerInfo) -> None:
        """Note that a worker is alive, and forget those that are long gone."""
        with self._connect("") as db:  # without a topic, so that no page refreshes
            db.execute(
                "INSERT INTO worker (id, host, nsys, ncu, seen_at) VALUES (?, ?, ?, ?, now())"
                " ON CONFLICT (id) DO UPDATE SET nsys = excluded.nsys, ncu = excluded.ncu, seen_at = excluded.seen_at",
                [one.id, one.host, one.nsys, one.ncu],
            )
            db.execute("DELETE FROM worker WHERE seen_at < now() - make_interval(days => 1)")

    def leave(self, worker_id: str) -> None:
        """Remove a worker that is ending."""
        with self._connect("") as db:
            db.execute("DELETE FROM worker WHERE id = ?", [worker_id])


def list_converters(workers: Sequence[WorkerInfo]) -> str:
    """Return all converters that these workers have: when the text changes, failed files are tried again."""
    converters = {f"nsys {one.nsys}" for one in workers if one.nsys} | {f"ncu {one.ncu}" for one in workers if one.ncu}
    return ", ".join(sorted(converters)) or "no converter"


def find_newest_nsys(workers: Sequence[WorkerInfo]) -> str:
    """Return the newest nsys of these workers; empty if none has one."""
    return max((one.nsys for one in workers), key=parse_version, default="")


def parse_version(version: str) -> tuple[int, ...]:
    """Return a version as numbers, for comparing."""
    return tuple(int(part) for part in _NUMBER.findall(version)[:4])
