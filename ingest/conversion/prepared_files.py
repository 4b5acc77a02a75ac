"""Prepare files that every conversion needs: an empty report, and the checked SQLite extension (Linux).

A separate process makes the report and has DuckDB check the extension's signature; it reads no dropped file. The
extension lies in an anonymous, sealed file (memfd_create) that nobody can change any more, so conversions load exactly
the bytes that were checked. Until both are ready, or if making them fails, each conversion does the work by itself.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ingest.nsys import sqlite
from profiledb import priority
from profiledb.errors import ConversionError
from profiledb.report import store
from profiledb.report.schema import quote
from profiledb.report.store import Ready

_ready = Ready()


def list_ready() -> Ready:
    """Return the files prepared for conversions of this process and of its forks."""
    return _ready


class PreparedFiles:
    """Prepares the files in a process beside the one that forks conversions."""

    def __init__(self) -> None:
        self._maker: int | None = None
        self._extensions: dict[str, int] = {}
        self._empty = -1

    def start(self) -> None:
        """Start preparing once; return at once."""
        if self._extensions:
            return
        with suppress(OSError, ConversionError):  # conversions then work without
            (path,) = sqlite.get_access(Path()).extensions
            self._empty = os.memfd_create("empty report")
            self._extensions = {path.name: _make_anonymous(path)}
            self._maker = os.fork()
            if self._maker == 0:
                os._exit(_prepare_files({path: self._extensions[path.name]}, self._empty))

    def collect(self) -> None:
        """Hand the files to later conversions once they are ready; call it before a fork."""
        global _ready  # noqa: PLW0603 - of the process: what it forks gets it with its memory
        if self._maker is None:
            return
        ended, status = os.waitpid(self._maker, os.WNOHANG)
        if not ended:
            return
        self._maker = None
        if status == 0 and all(map(_is_sealed, self._extensions.values())):
            _ready = Ready(os.pread(self._empty, os.fstat(self._empty).st_size, 0), self._extensions)
        os.close(self._empty)


def _make_anonymous(path: Path) -> int:
    return os.memfd_create(path.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def _fill_and_seal(copy: int, path: Path) -> None:
    with os.fdopen(os.dup(copy), "wb") as file:
        file.write(path.read_bytes())
    fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _list_seals())


def _is_sealed(copy: int) -> bool:
    return fcntl.fcntl(copy, fcntl.F_GET_SEALS) & _list_seals() == _list_seals()


def _list_seals() -> int:
    """Return seals against every change and against removing seals; a function because other systems lack the names."""
    return fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def _prepare_files(extensions: dict[Path, int], empty: int) -> int:
    """Prepare the files in the forked process and return its exit status."""
    try:
        priority.step_back(priority.LATER)  # conversions that somebody waits for go first
        with TemporaryDirectory() as folder:
            with duckdb.connect(config={"threads": 1}) as db:
                for path, copy in extensions.items():
                    _fill_and_seal(copy, path)  # before the check, so that nobody can change it afterward
                    with store.link_descriptor(Path(folder), path.name, copy) as link:
                        db.execute(f"LOAD {quote(str(link))}")  # fails unless DuckDB signed it
            report = Path(folder, "empty.duckdb")
            with store.create(report):
                pass
            os.pwrite(empty, report.read_bytes(), 0)
    except Exception:  # noqa: BLE001 - every conversion then does it by itself and reports the error
        return 1
    return 0
