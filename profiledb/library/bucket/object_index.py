"""Which objects of the bucket are the files of each report: rows of the catalog, whose key decides who publishes.

An object never changes: its name has the time and the SHA-256 of its content. What replaces a file is another object,
and the row says from when on. So whoever reads finds a whole file, the old one or the new one, on any S3 server.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiledb.library.file_hashes import digest

FOLDER = "reports"
_KEY = re.compile(rf"{FOLDER}/([\w-]{{1,64}})/(\d{{1,19}})-([0-9a-f]{{64}})\.([\w.-]{{1,200}})")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class File:
    """A file of a report, as the bucket has it.

    Args:
        report_id: the report.
        name: its name in the folder of a library.
        bytes: its size.
        sha256: of its content, hexadecimal.
        time_ns: its time, ns since 1970: every copy has it, because kept answers go by the times of files.
    """

    report_id: str
    name: str
    bytes: int
    sha256: str
    time_ns: int

    @property
    def key(self) -> str:
        """The name of its object."""
        return self.key_of(self.name)

    def key_of(self, name: str) -> str:
        """The name of an object that belongs to this one, such as the manifest of a database."""
        return f"{FOLDER}/{self.report_id}/{self.time_ns}-{self.sha256}.{name}"

    @classmethod
    def of(cls, report_id: str, name: str, path: Path) -> "File":
        """A file that lies here; its time is rounded down to whole microseconds, as more is not kept everywhere."""
        state = path.stat()
        return cls(report_id, name, state.st_size, digest(path), state.st_mtime_ns // 1000 * 1000)

    @classmethod
    def parse(cls, key: str, size: int) -> "File | None":
        """The file that an object is by its name; None where it is none of ours."""
        found = _KEY.fullmatch(key)
        return cls(found[1], found[4], size, found[3], int(found[2])) if found else None


_COLUMNS = "report_id, name, bytes, sha256, time_ns"
_VALUES = ":report_id, :name, :bytes, :sha256, :time_ns, 0"
_SET = "bytes = excluded.bytes, sha256 = excluded.sha256, time_ns = excluded.time_ns, damaged = 0"


class Index:
    """The rows of all reports. Every call opens its own connection and raises what ``Catalog`` does."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]]) -> None:
        self._connect = connect

    def of(self, report_id: str, *, damaged: bool = False) -> dict[str, File]:
        """The files of a report by their names; with those that were found damaged only if ``damaged``."""
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM stored_file WHERE report_id = ? AND damaged <= ?"
            return {row["name"]: _file(row) for row in db.execute(query, [report_id, int(damaged)])}

    def all(self, *, damaged: bool = False) -> dict[str, dict[str, File]]:
        """The same of all reports, by their ids."""
        found: dict[str, dict[str, File]] = {}
        with self._connect() as db:
            for row in db.execute(f"SELECT {_COLUMNS} FROM stored_file WHERE damaged <= ?", [int(damaged)]):
                found.setdefault(row["report_id"], {})[row["name"]] = _file(row)
        return found

    def claim(self, file: File) -> bool:
        """Publishes a file that nobody has published; False where somebody has, unless that one was damaged."""
        statement = (
            f"INSERT INTO stored_file ({_COLUMNS}, damaged) VALUES ({_VALUES})"
            f" ON CONFLICT (report_id, name) DO UPDATE SET {_SET}"
            " WHERE stored_file.damaged = 1 OR"
            " (stored_file.sha256 = excluded.sha256 AND stored_file.time_ns = excluded.time_ns)"
        )
        with self._connect() as db:
            return bool(db.execute(statement, vars(file)).rowcount == 1)

    def put(self, file: File) -> File | None:
        """Publishes a file in place of the one of its name, which it returns."""
        statement = (
            f"INSERT INTO stored_file ({_COLUMNS}, damaged) VALUES ({_VALUES})"
            f" ON CONFLICT (report_id, name) DO UPDATE SET {_SET}"
        )
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM stored_file WHERE report_id = ? AND name = ?"
            before = db.execute(query, [file.report_id, file.name]).fetchone()
            db.execute(statement, vars(file))
        return _file(before) if before else None

    def spoil(self, file: File) -> None:
        """Notes that a file was damaged when it was put: whoever converts its source again may publish it anew."""
        with self._connect() as db:
            db.execute(
                "UPDATE stored_file SET damaged = 1 WHERE report_id = ? AND name = ? AND sha256 = ?",
                [file.report_id, file.name, file.sha256],
            )

    def forget(self, report_id: str, names: Iterable[str]) -> None:
        """Removes rows of a report, those of these names."""
        rows = [[report_id, name] for name in names]
        if rows:
            with self._connect() as db:
                db.executemany("DELETE FROM stored_file WHERE report_id = ? AND name = ?", rows)

    def forget_all(self, report_id: str) -> None:
        """Removes all rows of a report."""
        with self._connect() as db:
            db.execute("DELETE FROM stored_file WHERE report_id = ?", [report_id])


def _file(row: Mapping[str, Any]) -> File:
    return File(row["report_id"], row["name"], row["bytes"], row["sha256"], row["time_ns"])
