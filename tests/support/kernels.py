"""Runs a program as on a kernel without Landlock or inotify: a filter of system calls answers as such a kernel does."""

import ctypes
import errno
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANDLOCK, INOTIFY = (444,), (253, 294)
"""Their system calls on x86-64."""
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2


def without(*calls: int) -> list[str]:
    """What stands before the command of the program."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.support import kernels; kernels.run({calls})"
    return [sys.executable, "-c", start]


def run(calls: tuple[int, ...]) -> None:
    """Becomes the program that the arguments of this one name."""
    steps = [(_LOAD, 0, 0, 0)]  # the number of the call
    for call in calls:
        steps += [(_JUMP_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    steps += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")
    os.execvp(sys.argv[1], sys.argv[1:])
