"""What one conversion may take: processor time by the size of its file, memory, and bytes of a file that it writes.

A file decides how much work it makes by nothing but its size, so that a small one that unpacks without end is stopped
after minutes of work, and one that hangs after minutes (watchdog.py). The system holds the limits of memory and files
(setrlimit), for converters as well.
"""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from profiledb.config import Settings
from profiledb.library import disk

FULL_TIME_BYTES = 450 << 20
"""A file of this size may use all the processor time of the setting; smaller ones a share of it."""
LEAST_S = 120.0
"""Processor seconds that every file may use, unless the setting is below."""
IDLE_S = 120.0
"""Seconds in which a conversion that neither works nor reads or writes counts as hung, unless the setting is below."""
PER_CORE_BYTES = 256 << 20
"""Address space that threads reserve and do not use: stacks and arenas of malloc, by core."""
FREE_SHARE = 0.9
"""Of the free space, what a single file may fill: the library and its catalog need the rest."""
SMALL_BYTES = 8 << 20
"""Up to this size a file is worked on by one thread, and others beside it: a second thread would wait for the first."""
PACKED = {".nsys-rep": 4, ".qdrep": 4, ".gz": 15, ".zip": 15}
"""How many times larger files are when they are unpacked, by their endings."""
_MB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one conversion: processor seconds of all its processes, bytes of address space of a process, bytes of a
    file that is written, threads of DuckDB (0: as many as there are cores), seconds without any progress, and whether
    the limit of files is the setting's; else it is what is free."""

    time_s: float
    memory_bytes: int
    file_bytes: int
    threads: int = 0
    idle_s: float = IDLE_S
    is_setting: bool = True

    def apply(self) -> None:
        """Binds this process, and all that it starts, to the limits of memory and files; no core is dumped."""
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_AS, self.memory_bytes)
        _lower(resource.RLIMIT_FSIZE, self.file_bytes)


def is_small(path: Path, source_bytes: int) -> bool:
    """Whether a file of so many bytes leaves room for others at the same time."""
    return source_bytes * PACKED.get(path.suffix.lower(), 1) <= SMALL_BYTES


def of(source_bytes: int, folder: Path, settings: Settings) -> Limits:
    """The limits for a file of so many bytes, whose conversion writes to ``folder``."""
    longest = settings.convert_timeout_s
    seconds = max(min(longest, LEAST_S), longest * min(1.0, source_bytes / FULL_TIME_BYTES))
    memory = settings.convert_memory_mb * _MB + (os.cpu_count() or 1) * PER_CORE_BYTES
    room, most = int(disk.free_bytes(folder) * FREE_SHARE), max(_MB, settings.convert_disk_mb * _MB)
    return Limits(seconds, memory, max(_MB, min(most, room)), idle_s=min(longest, IDLE_S), is_setting=most <= room)


def _lower(kind: int, value: int) -> None:
    """Sets both limits of a kind, but never above what the process may have."""
    _, most = resource.getrlimit(kind)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))
