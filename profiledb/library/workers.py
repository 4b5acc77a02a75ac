"""The workers of a team: which there are, and what each can convert."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from profiledb.library.database import Shared

ALIVE_S = 30
"""A worker that has not been seen for longer is gone, by the clock of the database: those of machines may differ."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Seen:
    """A worker: its machine and the versions of its converters, empty where it has none."""

    id: str
    host: str
    nsys: str
    ncu: str


class Workers:
    """The workers of a team's database."""

    def __init__(self, shared: Shared) -> None:
        self._connect = shared.connect

    def all(self) -> list[Seen]:
        """The workers that are alive."""
        with self._connect() as db:
            rows = db.execute(
                "SELECT id, host, nsys, ncu FROM worker WHERE seen_at > now() - make_interval(secs => ?)"
                " ORDER BY host, id LIMIT 1000",
                [ALIVE_S],
            ).fetchall()
        return [Seen(*row) for row in rows]

    def seen(self, one: Seen) -> None:
        """Says that a worker is alive; those that are long gone are forgotten."""
        with self._connect("") as db:  # no news for any page
            db.execute(
                "INSERT INTO worker (id, host, nsys, ncu, seen_at) VALUES (?, ?, ?, ?, now())"
                " ON CONFLICT (id) DO UPDATE SET nsys = excluded.nsys, ncu = excluded.ncu, seen_at = excluded.seen_at",
                [one.id, one.host, one.nsys, one.ncu],
            )
            db.execute("DELETE FROM worker WHERE seen_at < now() - make_interval(days => 1)")

    def leave(self, worker_id: str) -> None:
        """Takes a worker off that ends."""
        with self._connect("") as db:
            db.execute("DELETE FROM worker WHERE id = ?", [worker_id])


def converters(workers: Sequence[Seen]) -> str:
    """All converters that some workers have: with others, what failed is tried again."""
    found = {f"nsys {one.nsys}" for one in workers if one.nsys} | {f"ncu {one.ncu}" for one in workers if one.ncu}
    return ", ".join(sorted(found)) or "no converter"


def newest(workers: Sequence[Seen]) -> str:
    """The newest nsys of some workers; empty where none has one."""
    return max((one.nsys for one in workers), key=number, default="")


def number(version: str) -> tuple[int, ...]:
    """A version as numbers, which are in its order."""
    return tuple(int(part) for part in _NUMBER.findall(version)[:4])
