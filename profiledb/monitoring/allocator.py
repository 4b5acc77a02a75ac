"""Keep the C allocator from holding memory that the process has freed.

glibc gives each thread an arena of its own and returns only the top of an arena, so memory that threads free stays
resident, spread over many arenas (mallopt(3), malloc_trim(3)). Without glibc these functions do nothing.
"""

import ctypes
import threading
import time
from functools import cache

TRIM_S = 60.0
"""Seconds between two returns of free memory to the system."""
_M_ARENA_MAX = -8
_ARENAS = 2


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
    """Make all threads share two arenas. Call it before threads start."""
    if (library := _find_glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


def trim() -> None:
    """Return free memory to the system."""
    if (library := _find_glibc()) is not None:
        library.malloc_trim(0)


def start_trimming() -> None:
    """Share two arenas, and return free memory every minute until the process ends."""
    limit_arenas()
    threading.Thread(target=_keep_trimmed, name="trim", daemon=True).start()


def measure_heap() -> tuple[int, int] | None:
    """Return the bytes in use and free."""
    if (library := _find_glibc()) is None:
        return None
    info = library.mallinfo2()
    return info.uordblks + info.hblkhd, info.fordblks


def _keep_trimmed() -> None:
    while True:
        time.sleep(TRIM_S)
        trim()


@cache
def _find_glibc() -> ctypes.CDLL | None:
    """Return the C library if it is a glibc with ``mallinfo2``, else None."""
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallinfo2.restype = _MallInfo
    except (OSError, AttributeError):
        return None
    return library
