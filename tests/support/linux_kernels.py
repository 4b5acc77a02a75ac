"""Run a program as on a Linux kernel without Landlock or inotify: a seccomp filter makes their system calls fail."""

import ctypes
import errno
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANDLOCK, INOTIFY = (444,), (253, 294)
"""The system call numbers of both on x86-64."""
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2


def without(*calls: int) -> list[str]:
    """Return the command prefix that runs a program without these system calls."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.support.linux_kernels import run; run({calls})"
    return [sys.executable, "-c", start]


def run(calls: tuple[int, ...]) -> None:
    """Install the filter, and replace this process with the program in its arguments."""
    steps = [(_LOAD, 0, 0, 0)]  # the system call number
    for call in calls:
        steps += [(_JUMP_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    steps += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")
    os.execvp(sys.argv[1], sys.argv[1:])
