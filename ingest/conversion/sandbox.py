"""Confines a conversion to its files: whatever a hostile file makes a converter do, it changes nothing else.

``close`` takes away writing anywhere but in the folder of the conversion, and from Linux 6.7 on TCP
(profiledb/confinement.py). ``close_reads`` takes away reading anything but the dropped file, the system's programs and
Warpdeck's own, where no converter has to run (nobody knows what a converter reads of itself). Where the kernel has no
Landlock nothing is taken away; DuckDB is closed by itself (profiledb.store).
"""

import os
import sys
from pathlib import Path

from ingest.conversion.child import Request
from ingest.conversion.fork_client import ROOT
from profiledb import config, confinement

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev", "/nix", "/snap")
"""Where programs and libraries lie, and what they read of the machine."""
_DEVICES = ("/dev/null", "/dev/shm")  # noqa: S108 - semaphores lie there


def close(folder: Path) -> bool:
    """Takes writing outside the folder of a conversion from this thread; False where the kernel cannot.

    Temporary files of converters go there as well. To be called before other threads start.
    """
    own = folder / "tmp"
    own.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(own)
    allowed = [folder, *map(Path, _DEVICES)]
    return confinement.confine(confinement.writes(), confinement.network(), allowed)


def close_reads(request: Request) -> bool:
    """Takes reading of what a conversion does not need from this thread; False where the kernel cannot."""
    return confinement.confine(confinement.READ, 0, [request.work, *_readable(request)])


def _readable(request: Request) -> list[Path]:
    """The dropped file, the system's and Python's folders, and the files that settings name."""
    settings = config.load()
    python = [Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path]
    chosen = [path for path in (settings.classes, settings.phases) if path]
    return [*map(Path, SYSTEM), ROOT, *python, *chosen, request.source]
