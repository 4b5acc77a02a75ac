"""Measure which parts of this server hold memory, and make the allocators return free memory to the system.

Each page runs in a thread of its own, and the C allocator keeps memory that threads free
(profiledb/monitoring/allocator.py). DuckDB's allocator, jemalloc, returns free pages only while it serves requests,
unless it has background threads: an idle server held 300 MB.
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
from profiledb.monitoring import allocator


async def keep_trimmed() -> None:
    """Return free memory to the system every minute, for as long as the server runs."""
    with duckdb.connect(config={"threads": 1}) as db:
        while True:
            # A setting of the process that every newly opened database turns off again.
            await asyncio.to_thread(db.execute, "SET allocator_background_threads = true")
            await asyncio.to_thread(allocator.trim)
            await asyncio.sleep(allocator.TRIM_S)


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
    if (heap := allocator.measure_heap()) is not None:
        sizes |= dict(zip(("malloc", "malloc_free"), map(float, heap), strict=True))
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
