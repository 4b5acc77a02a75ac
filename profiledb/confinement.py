"""Give up rights of this thread and all that it starts, for good and without privileges (landlock(7)).

Landlock is part of Linux 5.13 and later; an older kernel takes nothing away. Running threads keep their rights, so a
process confines itself before it starts any.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
# Rights of linux/landlock.h: bits 0 to 12 of the first version, then one per version.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = _EXECUTE | _READ_FILE | _READ_DIR
"""Rights to read and run files and to list folders."""
_WRITES = ((1 << 13) - 1) & ~READ  # includes removing and making files, folders, links, devices and sockets
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_OF_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP = 0b11
_TCP_SINCE = 4


def read_version() -> int:
    """Return the kernel's version of Landlock; below 1 for none."""
    if sys.platform != "linux":
        return 0
    return int(_make_syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG))


def list_write_rights() -> int:
    """Return this kernel's rights that change files and folders."""
    known = read_version()
    return _WRITES | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)


def list_network_rights() -> int:
    """Return this kernel's rights to use TCP; none if it cannot take them away."""
    return _TCP if read_version() >= _TCP_SINCE else 0


def confine(files: int, tcp: int, allowed: Iterable[Path]) -> bool:
    """Give up rights on files and TCP, except for those on files in ``allowed`` (with everything in folders).

    Returns:
        False if the kernel cannot.
    """
    if read_version() < 1:
        return False
    ruleset = _create_ruleset(files, tcp)
    try:
        for path in allowed:
            _allow_path(ruleset, path, files)
        _restrict_self(ruleset)
    finally:
        os.close(ruleset)
    return True


def _create_ruleset(files: int, network: int) -> int:
    attributes = struct.pack("QQ", files, network) if network else struct.pack("Q", files)
    return _check_result(_make_syscall(_CREATE_RULESET, attributes, len(attributes), 0))


def _allow_path(ruleset: int, path: Path, rights: int) -> None:
    """Grant rights on a file, or on a folder with everything in it; do nothing if the path does not exist."""
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = rights if path.is_dir() else rights & _OF_FILE
        _check_result(_make_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, target), 0))
    finally:
        os.close(target)


def _restrict_self(ruleset: int) -> None:
    _check_result(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check_result(_make_syscall(_RESTRICT_SELF, ruleset, 0))


def _make_syscall(number: int, *arguments: int | bytes | None) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments))


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
