"""The catalog's rows that say which object of the bucket is which file of a report; their key decides who publishes.

An object never changes: its name contains the time and the SHA-256 of its content. A file is replaced by a new object
and an update of its row, so every reader finds a complete file, old or new, on any S3 server.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiledb.report.file_hashes import hash_file

FOLDER = "reports"
_KEY = re.compile(rf"{FOLDER}/([\w-]{{1,64}})/(\d{{1,19}})-([0-9a-f]{{64}})\.([\w.-]{{1,200}})")


@dataclass(frozen=True)
class StoredFile:
    """A file of a report in the bucket.

    Args:
        report_id: the report.
        name: file name in the folder of a library.
        bytes: size.
        sha256: SHA-256 of the content, hexadecimal.
        time_ns: time of the file, ns since 1970; every copy has it, because stored answers are keyed by file times.
    """

    report_id: str
    name: str
    bytes: int
    sha256: str
    time_ns: int

    @property
    def key(self) -> str:
        """Name of its object."""
        return self.key_of(self.name)

    def key_of(self, name: str) -> str:
        """Return the name of an object that belongs to this one, such as the manifest of a database."""
        return f"{FOLDER}/{self.report_id}/{self.time_ns}-{self.sha256}.{name}"

    @classmethod
    def from_path(cls, report_id: str, name: str, path: Path) -> "StoredFile":
        """Describe a file on this machine; its time is rounded down to microseconds, the precision of every store."""
        state = path.stat()
        return cls(report_id, name, state.st_size, hash_file(path), state.st_mtime_ns // 1000 * 1000)

    @classmethod
    def parse(cls, key: str, size: int) -> "StoredFile | None":
        """Parse the name of an object; None if it is not one of ours."""
        match = _KEY.fullmatch(key)
        return cls(match[1], match[4], size, match[3], int(match[2])) if match else None


_COLUMNS = "report_id, name, bytes, sha256, time_ns"
_VALUES = ":report_id, :name, :bytes, :sha256, :time_ns, 0"
_SET = "bytes = excluded.bytes, sha256 = excluded.sha256, time_ns = excluded.time_ns, damaged = 0"


class ObjectIndex:
    """The rows of all reports. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]]) -> None:
        self._connect = connect

    def files_of(self, report_id: str, *, damaged: bool = False) -> dict[str, StoredFile]:
        """Return the files of a report by name; damaged ones only if ``damaged``."""
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM stored_file WHERE report_id = ? AND damaged <= ?"
            return {row["name"]: _make_file(row) for row in db.execute(query, [report_id, int(damaged)])}

    def files_of_several(self, report_ids: Sequence[str]) -> dict[str, dict[str, StoredFile]]:
        """Return the files of some reports, by report id and name, without damaged ones."""
        files: dict[str, dict[str, StoredFile]] = {report_id: {} for report_id in report_ids}
        marks = ", ".join("?" * len(files))
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM stored_file WHERE damaged = 0 AND report_id IN ({marks})"
            for row in db.execute(query, list(files)) if files else ():
                files[row["report_id"]][row["name"]] = _make_file(row)
        return files

    def sum_bytes(self) -> dict[str, int]:
        """Return the size of the files of each report, without damaged ones."""
        with self._connect() as db:
            query = "SELECT report_id, sum(bytes) AS bytes FROM stored_file WHERE damaged = 0 GROUP BY report_id"
            return {row["report_id"]: int(row["bytes"]) for row in db.execute(query)}

    def list_times(self) -> dict[str, dict[str, int]]:
        """Return the time of each file in ns since 1970, by report id and name, without damaged ones."""
        times: dict[str, dict[str, int]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, name, time_ns FROM stored_file WHERE damaged = 0"):
                times.setdefault(row["report_id"], {})[row["name"]] = row["time_ns"]
        return times

    def all_files(self, *, damaged: bool = False) -> dict[str, dict[str, StoredFile]]:
        """Return the files of all reports, by report id and name; damaged ones only if ``damaged``."""
        files: dict[str, dict[str, StoredFile]] = {}
        with self._connect() as db:
            for row in db.execute(f"SELECT {_COLUMNS} FROM stored_file WHERE damaged <= ?", [int(damaged)]):
                files.setdefault(row["report_id"], {})[row["name"]] = _make_file(row)
        return files

    def claim(self, file: StoredFile) -> bool:
        """Publish a file unless another process has; return False if so. A damaged file may be replaced."""
        statement = (
            f"INSERT INTO stored_file ({_COLUMNS}, damaged) VALUES ({_VALUES})"
            f" ON CONFLICT (report_id, name) DO UPDATE SET {_SET}"
            " WHERE stored_file.damaged = 1 OR"
            " (stored_file.sha256 = excluded.sha256 AND stored_file.time_ns = excluded.time_ns)"
        )
        with self._connect() as db:
            return bool(db.execute(statement, vars(file)).rowcount == 1)

    def put(self, file: StoredFile) -> StoredFile | None:
        """Publish a file in place of the one with its name; return the file replaced."""
        statement = (
            f"INSERT INTO stored_file ({_COLUMNS}, damaged) VALUES ({_VALUES})"
            f" ON CONFLICT (report_id, name) DO UPDATE SET {_SET}"
        )
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM stored_file WHERE report_id = ? AND name = ?"
            before = db.execute(query, [file.report_id, file.name]).fetchone()
            db.execute(statement, vars(file))
        return _make_file(before) if before else None

    def mark_damaged(self, file: StoredFile) -> None:
        """Mark a file as damaged in the bucket, so that a new conversion of its source may replace it."""
        with self._connect() as db:
            db.execute(
                "UPDATE stored_file SET damaged = 1 WHERE report_id = ? AND name = ? AND sha256 = ?",
                [file.report_id, file.name, file.sha256],
            )

    def forget(self, report_id: str, names: Iterable[str]) -> None:
        """Remove these rows of a report."""
        rows = [[report_id, name] for name in names]
        if rows:
            with self._connect() as db:
                db.executemany("DELETE FROM stored_file WHERE report_id = ? AND name = ?", rows)

    def forget_all(self, report_id: str) -> None:
        """Remove all rows of a report."""
        with self._connect() as db:
            db.execute("DELETE FROM stored_file WHERE report_id = ?", [report_id])


def _make_file(row: Mapping[str, Any]) -> StoredFile:
    return StoredFile(row["report_id"], row["name"], row["bytes"], row["sha256"], row["time_ns"])
