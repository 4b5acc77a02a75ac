"""Confine a conversion to its files: whatever a hostile file makes a converter do, nothing else changes.

``close`` revokes writing outside the conversion's folder and, from Linux 6.7 on, TCP (profiledb/confinement.py).
``close_reads`` also revokes reading anything but the dropped file, the system's programs and Warpdeck's own. It is not
used where a converter runs, because nobody knows which files a converter reads. Without Landlock in the kernel nothing
is revoked; DuckDB restricts itself (profiledb.report.store).
"""

import os
import sys
from pathlib import Path

from ingest.conversion.messages import ROOT, Request
from profiledb import config, confinement

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev", "/nix", "/snap")
"""Folders of programs, libraries and the machine's facts."""
_DEVICES = ("/dev/null", "/dev/shm")  # noqa: S108 - holds semaphores


def close(folder: Path) -> bool:
    """Revoke this thread's right to write outside a conversion's folder; return False if the kernel cannot.

    Temporary files of converters go into the folder as well. Call it before other threads start.
    """
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(temporary)
    allowed = [folder, *map(Path, _DEVICES)]
    return confinement.confine(confinement.list_write_rights(), confinement.list_network_rights(), allowed)


def close_reads(request: Request) -> bool:
    """Revoke this thread's right to read files that the conversion does not need; return False if the kernel cannot."""
    return confinement.confine(confinement.READ, 0, [request.work, *_list_readable(request)])


def _list_readable(request: Request) -> list[Path]:
    """Return the dropped file, the folders of the system and of Python, and the files that settings name."""
    settings = config.load()
    python = [Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path]
    rules = [path for path in (settings.classes, settings.phases) if path]
    return [*map(Path, SYSTEM), ROOT, *python, *rules, request.source]
