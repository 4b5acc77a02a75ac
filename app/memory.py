"""Measure which parts of this server hold memory, and make the allocators return free memory to the system.

Pages run in a thread each. glibc gives each thread an arena of its own and returns only the top of an arena, so memory
that pages free stays resident, spread over many arenas (mallopt(3), malloc_trim(3)). DuckDB's allocator, jemalloc,
returns free pages only while it serves requests, unless it has background threads: an idle server held 300 MB.
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
    """Make all threads share two arenas of glibc's allocator, if it is glibc's. Call it before threads start."""
    if (library := _find_glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


async def keep_trimmed() -> None:
    """Return free memory to the system every minute, for as long as the server runs."""
    library = _find_glibc()
    with duckdb.connect(config={"threads": 1}) as db:
        while True:
            # A setting of the process that every newly opened database turns off again.
            await asyncio.to_thread(db.execute, "SET allocator_background_threads = true")
            if library is not None:
                await asyncio.to_thread(library.malloc_trim, 0)
            await asyncio.sleep(_TRIM_S)


def measure_holders() -> dict[str, float]:
    """Return bytes by holder. Python objects are the part of ``resident`` that no other holder explains.

    ``answers``, ``questions``, ``figures``: the caches of pages: analyses and results derived from them, SQL questions,
    charts.
    ``duckdb``: its buffers, including cached blocks of reports.
    ``duckdb_pages``: resident memory of its allocator, the buffers and free pages.
    ``arrow``: pyarrow's pool.
    ``malloc``, ``malloc_free``: memory of the C allocator in use, values of data frames included, and free.
    ``files``: programs and libraries, mapped from files.
    ``resident``: the whole process.
    """
    process = psutil.Process()
    sizes = {
        "answers": float(session.count_answer_bytes()),
        "questions": float(session.count_question_bytes()),
        "figures": float(figure_cache.count_bytes()),
        "duckdb": float(visitors.get_whole_library().buffers_bytes()),
        "arrow": float(pa.total_allocated_bytes()),
        "files": float(process.memory_info().shared),
        "resident": float(process.memory_info().rss),
    }
    if (pages := _measure_duckdb_pages()) is not None:
        sizes["duckdb_pages"] = float(pages)
    if (library := _find_glibc()) is not None:
        info = library.mallinfo2()
        sizes |= {"malloc": float(info.uordblks + info.hblkhd), "malloc_free": float(info.fordblks)}
    return sizes


def _measure_duckdb_pages() -> int | None:
    """Return the resident bytes of DuckDB's jemalloc; None if DuckDB uses another allocator."""
    control = _find_jemalloc()
    if control is None:
        return None
    resident, size, epoch = ctypes.c_size_t(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_size_t)), ctypes.c_uint64(1)
    control(
        b"epoch", None, None, ctypes.byref(epoch), ctypes.c_size_t(ctypes.sizeof(epoch))
    )  # refreshes the statistics
    if control(b"stats.resident", ctypes.byref(resident), ctypes.byref(size), None, ctypes.c_size_t(0)):
        return None
    return resident.value


@cache
def _find_jemalloc() -> Any:
    """Return ``mallctl`` of the jemalloc in DuckDB's library (jemalloc(3)); None if it has none."""
    try:
        return ctypes.CDLL(_duckdb.__file__).duckdb_je_mallctl
    except (OSError, AttributeError):
        return None


@cache
def _find_glibc() -> ctypes.CDLL | None:
    """Return the C library if it is a glibc with ``mallinfo2``, else None."""
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallinfo2.restype = _MallInfo
    except (OSError, AttributeError):
        return None
    return library
