"""Hash and measure the contents of a dropped file or folder."""

import hashlib
from pathlib import Path

_CHUNK = 1 << 20


def hash_contents(source: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files, in hexadecimal."""
    digest = hashlib.sha256()
    files = _list_files(source) if source.is_dir() else [source]
    for path in files:
        if source.is_dir():
            digest.update(path.name.encode() + b"\0")
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def list_parts(source: Path) -> dict[str, int]:
    """Return the size in bytes of each file of a folder by name; nothing for a file."""
    return {path.name: path.stat().st_size for path in _list_files(source)} if source.is_dir() else {}


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))
