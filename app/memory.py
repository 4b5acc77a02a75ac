"""Name the holders of this server's memory by size, and keep the C allocator from holding freed memory.

Pages run in a thread each. glibc gives threads arenas of their own and returns the top of an arena alone, so what pages
free would stay resident, spread over many arenas (mallopt(3), malloc_trim(3)).
"""

import asyncio
import ctypes
from functools import cache

import psutil
import pyarrow as pa

from app import session
from app.ui import kept
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
    """Return free pages of the C allocator to the system every minute, for as long as the server runs."""
    while (library := _glibc()) is not None:
        await asyncio.sleep(_TRIM_S)
        await asyncio.to_thread(library.malloc_trim, 0)


def holders() -> dict[str, float]:
    """Bytes by holder.

    ``answers``, ``figures``: the two caches of pages. ``duckdb``: its buffers, cached blocks of reports among them.
    ``arrow``: pyarrow's pool. ``malloc``, ``malloc_free``: what the C allocator has given out, values of frames among
    it, and what it holds free. ``resident``: the process.
    """
    found = {
        "answers": float(session.answers_bytes()),
        "figures": float(kept.size_bytes()),
        "duckdb": float(visitors.whole().buffers_bytes()),
        "arrow": float(pa.total_allocated_bytes()),
        "resident": float(psutil.Process().memory_info().rss),
    }
    if (library := _glibc()) is not None:
        told = library.mallinfo2()
        found |= {"malloc": float(told.uordblks + told.hblkhd), "malloc_free": float(told.fordblks)}
    return found


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc with ``mallinfo2``."""
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallinfo2.restype = _MallInfo
    except (OSError, AttributeError):
        return None
    return library
