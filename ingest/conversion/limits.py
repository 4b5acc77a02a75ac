"""Limits of one conversion: processor time by the size of its file, memory, and sizes of the files it writes.

A file determines its share of processor time by its size alone, so that a small one that unpacks without end is
stopped after minutes of work, and one that hangs after minutes (watchdog.py). The system enforces the limits of memory
and files (setrlimit), for converters as well.
"""

import os
from pathlib import Path

from ingest import formats
from ingest.conversion.messages import Limits
from profiledb.config import Settings
from profiledb.library import disk

FULL_TIME_BYTES = 450 << 20
"""A file of this size may use all the processor time of the setting; smaller ones a share of it."""
LEAST_S = 120.0
"""Processor seconds that every file may use, unless the setting is lower."""
IDLE_S = 120.0
"""A conversion that neither works nor reads or writes for this many seconds counts as hung, unless the setting is
lower."""
PER_CORE_BYTES = 256 << 20
"""Address space per core that threads reserve without using it: stacks and arenas of malloc."""
FREE_SHARE = 0.9
"""Share of the free space that a single file may fill: the library and its catalog need the rest."""
SMALL_BYTES = 8 << 20
"""Up to this unpacked size a file gets one thread, because a second one would wait for the first; other files run
beside it."""
_MB = 1 << 20


def is_small(path: Path, source_bytes: int) -> bool:
    """Return True if a file of this size leaves room for others at the same time."""
    return source_bytes * formats.estimate_expansion(path.name) <= SMALL_BYTES


def compute_limits(source_bytes: int, folder: Path, settings: Settings) -> Limits:
    """Return the limits for a file of this size, whose conversion writes to ``folder``."""
    longest = settings.convert_timeout_s
    seconds = max(min(longest, LEAST_S), longest * min(1.0, source_bytes / FULL_TIME_BYTES))
    memory = settings.convert_memory_mb * _MB + (os.cpu_count() or 1) * PER_CORE_BYTES
    free, setting = int(disk.measure_free(folder) * FREE_SHARE), max(_MB, settings.convert_disk_mb * _MB)
    return Limits(
        seconds, memory, max(_MB, min(setting, free)), idle_s=min(longest, IDLE_S), is_setting=setting <= free
    )
