"""Name the holders of this server's memory by size, and keep allocators from holding freed memory.

Pages run in a thread each. glibc gives threads arenas of their own and returns the top of an arena alone, so what pages
free would stay resident, spread over many arenas (mallopt(3), malloc_trim(3)). DuckDB's allocator, jemalloc, looks for
pages to return only while it is asked for memory, unless threads of its own do: an idle server held 300 MB of them.
"""

import asyncio
import ctypes
from functools import cache
from typing import Any

import _duckdb
import duckdb
import psutil
import pyarrow as pa

from app import session
from app.ui import figure_cache
from app.web import visitors

_M_ARENA_MAX = -8
_ARENAS = 2
_TRIM_S = 60.0


class _MallInfo(ctypes.Structure):
    """``struct mallinfo2`` (glibc 2.33): bytes by kind."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def limit_arenas() -> None:
    """Have all threads share two arenas of the C allocator, where it is glibc's; call it before threads start."""
    if (library := _glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


async def keep_trimmed() -> None:
    """Return free pages of the allocators to the system every minute, for as long as the server runs."""
    library = _glibc()
    with duckdb.connect(config={"threads": 1}) as db:
        while True:
            # It holds for the process, until the next database is opened: that one turns it off.
            await asyncio.to_thread(db.execute, "SET allocator_background_threads = true")
            if library is not None:
                await asyncio.to_thread(library.malloc_trim, 0)
            await asyncio.sleep(_TRIM_S)


def holders() -> dict[str, float]:
    """Bytes by holder.

    ``answers``, ``questions``, ``figures``: what pages keep of analyses and of all that is worked out from them, of
    questions in SQL, and of what they draw. ``duckdb``: its buffers, cached blocks of reports among them;
    ``duckdb_pages``: what its allocator has in memory, these and free pages. ``arrow``: pyarrow's pool. ``malloc``,
    ``malloc_free``: what the C allocator has given out, values of frames among it, and what it holds free. ``files``:
    programs and libraries, which are read from files. ``resident``: the process. The objects of Python are the rest.
    """
    process = psutil.Process()
    found = {
        "answers": float(session.answers_bytes()),
        "questions": float(session.questions_bytes()),
        "figures": float(figure_cache.size_bytes()),
        "duckdb": float(visitors.whole().buffers_bytes()),
        "arrow": float(pa.total_allocated_bytes()),
        "files": float(process.memory_info().shared),
        "resident": float(process.memory_info().rss),
    }
    if (pages := _duckdb_pages()) is not None:
        found["duckdb_pages"] = float(pages)
    if (library := _glibc()) is not None:
        told = library.mallinfo2()
        found |= {"malloc": float(told.uordblks + told.hblkhd), "malloc_free": float(told.fordblks)}
    return found


def _duckdb_pages() -> int | None:
    """Return the resident bytes of DuckDB's jemalloc; None where DuckDB has another allocator."""
    control = _jemalloc()
    if control is None:
        return None
    found, size, epoch = ctypes.c_size_t(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_size_t)), ctypes.c_uint64(1)
    control(b"epoch", None, None, ctypes.byref(epoch), ctypes.c_size_t(ctypes.sizeof(epoch)))  # figures as of now
    if control(b"stats.resident", ctypes.byref(found), ctypes.byref(size), None, ctypes.c_size_t(0)):
        return None
    return found.value


@cache
def _jemalloc() -> Any:
    """``mallctl`` of the jemalloc in DuckDB's library (jemalloc(3)), where it has one."""
    try:
        return ctypes.CDLL(_duckdb.__file__).duckdb_je_mallctl
    except (OSError, AttributeError):
        return None


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc with ``mallinfo2``."""
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallinfo2.restype = _MallInfo
    except (OSError, AttributeError):
        return None
    return library
