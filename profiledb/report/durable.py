"""Write files that are complete under their name even after a power cut: sync content, rename, sync the folder."""

import contextlib
import os
from pathlib import Path


def write_text(path: Path, text: str, temporary: Path) -> None:
    """Write a text under ``temporary``, on the same file system, and rename it to ``path``."""
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    move(temporary, path)


def move(source: Path, target: Path) -> None:
    """Rename a file over another one; return when content and name are on the disk."""
    _sync_file(source)
    source.replace(target)
    with contextlib.suppress(OSError):  # some file systems do not sync folders
        _sync_file(target.parent)


def try_write_text(path: Path, text: str) -> None:
    """Write a text that may be lost; do nothing if the folder cannot be written."""
    with contextlib.suppress(OSError):
        path.write_text(text, encoding="utf-8")


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
