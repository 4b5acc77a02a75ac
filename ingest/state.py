"""What tells one state of a file from another: its size and its time, and what it holds."""

import hashlib
import stat
from pathlib import Path

_CHUNK = 1 << 20


def look(path: Path) -> tuple[int, int] | None:
    """Bytes and latest time (ns) of a file, or of a folder's files; None for what is neither (a pipe) or is gone."""
    try:
        own = path.stat()
        files = [p.stat() for p in path.iterdir()] if stat.S_ISDIR(own.st_mode) else [own]
    except OSError:
        return None
    if not (stat.S_ISREG(own.st_mode) or stat.S_ISDIR(own.st_mode)):
        return None
    return sum(s.st_size for s in files), max(s.st_mtime_ns for s in (own, *files))


def contents(source: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files; hexadecimal."""
    digest = hashlib.sha256()
    files = _files(source) if source.is_dir() else [source]
    for path in files:
        if source.is_dir():
            digest.update(path.name.encode() + b"\0")
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def parts(source: Path) -> dict[str, int]:
    """Bytes of each file of a folder by name; nothing for a file."""
    return {path.name: path.stat().st_size for path in _files(source)} if source.is_dir() else {}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))
