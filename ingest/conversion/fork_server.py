"""Forks conversions from a process that has everything imported: ``python -m ingest.conversion.fork_server`` (Linux).

The worker starts it (fork_client.py) and asks for a process at a time over a socket, its standard input. It reads
nothing of
what was dropped, opens no database and has no second thread: a fork copies locks that are held, and of the threads none
but the one that forks. What it prepares once for all conversions is in memory that nobody can write to any more: an
empty report, and the SQLite extension after DuckDB's own check of its signature (prepared_files.py).
"""

import gc
import os
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path

QUIET = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Keeps numpy and pyarrow from starting threads when they are imported."""
FILES = 3
"""Files that come with the order for a process: its standard input, output and errors."""
PLAIN, ARRAYS, PREPARE = b"plain", b"arrays", b"prepare"
"""Orders: a process; one that will need numpy and pyarrow; what is to be ready for those to come."""

_MODULES = ("ingest.conversion.job", "ingest.formats.nsys_report", "ingest.formats.nsys_sqlite",
            "ingest.formats.nsys_parquet", "ingest.formats.torch_trace", "ingest.formats.ncu_csv", "psutil",
            "sqlite3")  # fmt: skip
_ARRAYS = ("pandas", "pyarrow.parquet", "ingest.torch.load", "ingest.formats.ncu_report", "ingest.ncu.pages",
           "ingest.ncu.tables", "ncu_report")  # fmt: skip


def main() -> int:
    """Serves until the worker closes the other end."""
    line = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _import(_MODULES)
    from ingest.conversion.prepared_files import Prepared

    prepared = Prepared()
    while True:
        order, files, _, _ = socket.recv_fds(line, 64, FILES)
        if not order:
            return 0
        if order == PREPARE:
            prepared.begin()
            continue
        if order == ARRAYS:
            _import(_ARRAYS)
        prepared.take()
        pid = _fork(files)
        for file in files:
            os.close(file)
        try:
            line.send(b"%d" % pid)
        except OSError:  # the worker died meanwhile; what was forked ends by itself
            return 0


def _import(names: tuple[str, ...]) -> None:
    """Imports modules that are there, and sees to it that none of them left a thread behind."""
    for name in names:
        try:
            import_module(name)
        except ImportError:  # a platform without it: who needs it says so
            continue
    import duckdb

    duckdb.default_connection().close()  # its import opens a database, with threads
    if (threads := len(list(Path("/proc/self/task").iterdir()))) > 1:
        raise RuntimeError(f"{threads} threads: nothing can be forked from this process")
    gc.collect()
    gc.freeze()  # what is here already is looked at by no collection of a child, which would copy its pages


def _fork(files: list[int]) -> int:
    """Starts a conversion in a session of its own and returns its id; 0 where there is no room for another process.

    It is the child of a process that ends at once, so that the worker, which adopts orphans, waits for it and not this.
    """
    told, tell = os.pipe()
    try:
        between = os.fork()
    except OSError:
        os.close(told)
        os.close(tell)
        return 0
    if between == 0:
        os._exit(_between(files, tell))
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        pid = int(pipe.readline() or b"0")
    os.waitpid(between, 0)
    return pid


def _between(files: list[int], tell: int) -> int:
    try:
        if os.fork():
            return 0
    except OSError:
        return 1
    os.setsid()  # before anybody knows its id: whoever does may end the group
    os.write(tell, b"%d\n" % os.getpid())
    return _convert(files)


def _convert(files: list[int]) -> int:
    """What ``python -m ingest.conversion.job`` does, in this process; returns the exit status."""
    from ingest.conversion import job, prepared_files

    for number, file in enumerate(files):
        os.dup2(file, number)
    _close_all(set(prepared_files.ready().extensions.values()))
    try:
        return job.main()
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a program
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _close_all(keep: set[int]) -> None:
    """Closes all files of the server: a conversion has its own three, and what is sealed."""
    for descriptor in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if descriptor > 2 and descriptor not in keep:
            with suppress(OSError):  # that of the listing itself
                os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
