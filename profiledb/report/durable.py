"""Files that are whole under their name, also after a power cut: content first, then the name, then the folder."""

import contextlib
import os
from pathlib import Path


def write_text(path: Path, text: str, temporary: Path) -> None:
    """Writes a text under ``temporary``, on the same file system, and moves it to its name."""
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    move(temporary, path)


def move(source: Path, target: Path) -> None:
    """Moves a file in place of what has its new name; returns when both content and name are on the disk."""
    _sync(source)
    source.replace(target)
    with contextlib.suppress(OSError):  # some file systems do not synchronize folders
        _sync(target.parent)


def note(path: Path, text: str) -> None:
    """Writes a text that may be lost; does nothing where the folder cannot be written."""
    with contextlib.suppress(OSError):
        path.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
