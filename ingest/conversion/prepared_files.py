"""What conversions find ready: an empty report, and the SQLite extension, checked once (Linux).

A process of its own makes the one and has DuckDB check the signature of the other; it reads nothing that was dropped.
The extension lies in a file without a name that is sealed (memfd_create): the kernel lets nobody change it any more, so
that what is loaded is what was checked, to the byte. As long as they are not ready, and where making them fails, a
conversion does both by itself.
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


def ready() -> Ready:
    """What is there for the conversions of this process and of those that it forks."""
    return _ready


class Prepared:
    """Makes what conversions find ready, in a process beside the one that forks them."""

    def __init__(self) -> None:
        self._maker: int | None = None
        self._extensions: dict[str, int] = {}
        self._empty = -1

    def begin(self) -> None:
        """Starts making it, once; returns at once."""
        if self._extensions:
            return
        with suppress(OSError, ConversionError):  # then it is as without
            (path,) = sqlite.access(Path()).extensions
            self._empty = os.memfd_create("empty report")
            self._extensions = {path.name: _unnamed(path)}
            self._maker = os.fork()
            if self._maker == 0:
                os._exit(_make({path: self._extensions[path.name]}, self._empty))

    def take(self) -> None:
        """Hands it to the conversions from now on, if it has been made; to be called before a fork."""
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


def sealed_copy(path: Path) -> int:
    """A file without a name that has the bytes of another one, for good; its descriptor."""
    copy = _unnamed(path)
    _fill(copy, path)
    return copy


def _unnamed(path: Path) -> int:
    return os.memfd_create(path.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def _fill(copy: int, path: Path) -> None:
    with os.fdopen(os.dup(copy), "wb") as file:
        file.write(path.read_bytes())
    fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _seals())


def _is_sealed(copy: int) -> bool:
    return fcntl.fcntl(copy, fcntl.F_GET_SEALS) & _seals() == _seals()


def _seals() -> int:
    """Against every change, and against taking these away; a function, as other systems have no such names."""
    return fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def _make(extensions: dict[Path, int], empty: int) -> int:
    """The process that makes it; returns its exit status, 0 where all is well."""
    try:
        priority.step_back(priority.LATER)  # whoever waits for a conversion goes first
        with TemporaryDirectory() as folder:
            with duckdb.connect(config={"threads": 1}) as db:
                for path, copy in extensions.items():
                    _fill(copy, path)  # sealed before it is checked, so that it is what was checked
                    with store.link_descriptor(Path(folder), path.name, copy) as link:
                        db.execute(f"LOAD {quote(str(link))}")  # refuses what DuckDB did not sign
            report = Path(folder, "empty.duckdb")
            with store.create(report):
                pass
            os.pwrite(empty, report.read_bytes(), 0)
    except Exception:  # noqa: BLE001 - then every conversion does it by itself, and says what is wrong
        return 1
    return 0
