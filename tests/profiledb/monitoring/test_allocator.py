"""Memory that threads freed, and its return to the system."""

import subprocess
import sys

import pytest

from profiledb.monitoring import allocator
from tests.conftest import ROOT

FREED = """
import ctypes, threading
import psutil
from profiledb.monitoring import allocator
BLOCK, COUNT = 50_000, 400
library = ctypes.CDLL("libc.so.6")
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
{before}
filled = threading.Barrier(8)
def fill():
    blocks = [library.malloc(BLOCK) for _ in range(COUNT)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    filled.wait()  # else one thread takes what another has freed
    for block in blocks[:-1]:  # the last one is at the top, and keeps the arena from shrinking
        library.free(block)
threads = [threading.Thread(target=fill) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
resident = psutil.Process().memory_info().rss
in_use, free = allocator.measure_heap()
allocator.trim()
print(in_use, free, resident, psutil.Process().memory_info().rss)
"""
glibc = pytest.mark.skipif(allocator.measure_heap() is None, reason="another C library")


@glibc
@pytest.mark.parametrize("before", ["", "allocator.limit_arenas()"])
def test_memory_that_threads_freed_goes_back_to_the_system(before: str) -> None:
    """Eight threads free 20 MB each, of which nothing returns by itself."""
    done = subprocess.run(
        [sys.executable, "-c", FREED.format(before=before)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    in_use, free, resident, after = map(int, done.stdout.split())
    assert free > 100_000_000 > in_use
    assert resident - after > 100_000_000
