"""Confines a conversion to its files: whatever a hostile file makes a converter do, it changes nothing else.

Landlock (Linux 5.13 and later, landlock(7)) takes rights away from this thread and all that it starts, for good and
without privileges. ``close`` takes away writing anywhere but in the folder of the conversion, and from Linux 6.7 on
TCP. ``close_reads`` takes away reading anything but the dropped file, the system's programs and Warpdeck's own, where
no converter has to run (nobody knows what a converter reads of itself). Where the kernel has no Landlock nothing is
taken away; DuckDB is closed by itself (profiledb.store).
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

from ingest.conversion.child import Request
from ingest.conversion.forks import ROOT
from profiledb import config

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
# Rights of linux/landlock.h, as far as the first versions know them: bits 0 to 12, then one a version.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITES = ((1 << 13) - 1) & ~_READ  # also removing and making files, folders, links, devices, sockets
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_OF_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP = 0b11
_TCP_SINCE = 4

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
    version = _version()
    handled = _WRITES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    return _confine(version, handled, _TCP if version >= _TCP_SINCE else 0, [folder, *map(Path, _DEVICES)])


def close_reads(request: Request) -> bool:
    """Takes reading of what a conversion does not need from this thread; False where the kernel cannot."""
    return _confine(_version(), _READ, 0, [request.work, *_readable(request)])


def _confine(version: int, handled: int, network: int, allowed: list[Path]) -> bool:
    if version < 1:
        return False
    ruleset = _ruleset(handled, network)
    try:
        for path in allowed:
            _allow(ruleset, path, handled)
        _restrict(ruleset)
    finally:
        os.close(ruleset)
    return True


def _readable(request: Request) -> list[Path]:
    """The dropped file, the system's and Python's folders, and the files that settings name."""
    settings = config.load()
    python = [Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path]
    chosen = [path for path in (settings.classes, settings.phases) if path]
    return [*map(Path, SYSTEM), ROOT, *python, *chosen, request.source]


def _version() -> int:
    """The version of Landlock of this kernel; below 1 where there is none."""
    if sys.platform != "linux":
        return 0
    return int(_syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG))


def _ruleset(files: int, network: int) -> int:
    attributes = struct.pack("QQ", files, network) if network else struct.pack("Q", files)
    return _checked(_syscall(_CREATE_RULESET, attributes, len(attributes), 0))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Grants rights on a file, or on a folder and all below it; nothing where there is none."""
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = rights if path.is_dir() else rights & _OF_FILE
        _checked(_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, target), 0))
    finally:
        os.close(target)


def _restrict(ruleset: int) -> None:
    _checked(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_syscall(_RESTRICT_SELF, ruleset, 0))


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
