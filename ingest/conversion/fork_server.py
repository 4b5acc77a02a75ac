"""Fork conversions from a process that has everything imported: ``python -m ingest.conversion.fork_server`` (Linux).

The worker starts the server (fork_client.py), or forks it from itself, and orders one process at a time over a socket.
The server reads no dropped file, opens no database and has a single thread: a fork copies held locks, but no thread
except the one that forks. Files that it prepares once for all conversions are in memory that nobody can write to any
more: an empty report, and the SQLite extension after DuckDB checked its signature (prepared_files.py).
"""

import gc
import os
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from ingest.conversion.messages import ARRAYS, FILES, PREPARE, ROOT

_MODULES = ("ingest.conversion.job", "psutil", "sqlite3")
_SERVER_MODULES = ("numpy",)
"""DuckDB imports it to call a function in Python, which every conversion of an nsys export defines."""
_ARRAY_MODULES = ("pyarrow.parquet",)


def main() -> int:
    """Serve until the worker closes its end."""
    connection = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return _serve(connection)


def fork_from_here(connection: socket.socket, environment: Mapping[str, str]) -> int:
    """Fork the server from this process and return its id. Call it before this process reads or opens anything: the
    server keeps nothing of it but its modules, and standard error.

    Args:
        connection: the server's end of the socket.
        environment: variables to add to those of this process.

    Raises:
        RuntimeError: this process has other threads.
        OSError: the system has no room for another process.
    """
    import_modules(arrays=False)
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(nothing, number)
        _close_files({connection.fileno()})
        leave_folder()
        os.environ.update(environment)
        status = _serve(connection)
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a program
        traceback.print_exc()
    finally:
        os._exit(status)


def leave_folder() -> None:
    """Leave the folder of the worker's user, the first on Python's path, whose folders a conversion may read."""
    if sys.path[0] in ("", str(Path.cwd())):
        sys.path[0] = str(ROOT)
    os.chdir(ROOT)


def _serve(connection: socket.socket) -> int:
    import_modules(arrays=False, more=_SERVER_MODULES)
    from ingest.conversion.prepared_files import PreparedFiles

    prepared = PreparedFiles()
    while True:
        order, files, _, _ = socket.recv_fds(connection, 64, FILES)
        if not order:
            return 0
        if order == PREPARE:
            prepared.start()
            continue
        if order == ARRAYS:
            import_modules(arrays=True)
        prepared.collect()
        pid = _fork_conversion(files)
        for file in files:
            os.close(file)
        try:
            connection.send(b"%d" % pid)
        except OSError:  # the worker died meanwhile; the forked process ends by itself
            return 0


def import_modules(*, arrays: bool, more: Sequence[str] = ()) -> None:
    """Import the modules of conversions and ``more``, with ``arrays`` also the readers that need numpy and pyarrow.

    Raises:
        RuntimeError: an import left a thread behind, so that this process must not fork.
    """
    from ingest import formats

    readers = [module for one in formats.list_formats() for module in one.array_readers]
    for name in (*_MODULES, *more, *((*_ARRAY_MODULES, *readers) if arrays else ())):
        try:
            import_module(name)
        except ImportError:  # missing on this platform: the conversion that needs it reports that
            continue
    import duckdb

    duckdb.default_connection().close()  # its import opens a database, with threads
    if (threads := len(list(Path("/proc/self/task").iterdir()))) > 1:
        raise RuntimeError(f"{threads} threads: nothing can be forked from this process")
    gc.collect()
    gc.freeze()  # garbage collections of children then skip these objects instead of copying their pages


def _fork_conversion(files: list[int]) -> int:
    """Start a conversion in its own session and return its id; 0 if the system has no room for another process.

    Its parent ends at once, so that the worker adopts it and waits for it instead of this process.
    """
    pid_reader, pid_writer = os.pipe()
    try:
        parent = os.fork()
    except OSError:
        os.close(pid_reader)
        os.close(pid_writer)
        return 0
    if parent == 0:
        os._exit(_fork_again(files, pid_writer))
    os.close(pid_writer)
    with os.fdopen(pid_reader, "rb") as pipe:
        pid = int(pipe.readline() or b"0")
    os.waitpid(parent, 0)
    return pid


def _fork_again(files: list[int], pid_writer: int) -> int:
    try:
        if os.fork():
            return 0
    except OSError:
        return 1
    os.setsid()  # before the id is known: a process that knows it may end the group
    os.write(pid_writer, b"%d\n" % os.getpid())
    return _run_job(files)


def _run_job(files: list[int]) -> int:
    """Run ``ingest.conversion.job`` in this process and return its exit status."""
    from ingest.conversion import job, prepared_files

    for number, file in enumerate(files):
        os.dup2(file, number)
    _close_files(set(prepared_files.list_ready().extensions.values()))
    try:
        return job.main()
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a program
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _close_files(keep: set[int]) -> None:
    """Close the server's files, except the three standard ones and ``keep``."""
    for descriptor in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if descriptor > 2 and descriptor not in keep:
            with suppress(OSError):  # the listing's own descriptor is closed already
                os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
