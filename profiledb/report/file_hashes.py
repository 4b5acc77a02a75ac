"""Compare and copy files by the SHA-256 of their content."""

import hashlib
import shutil
from pathlib import Path

from profiledb.errors import ConfigError, DamagedError
from profiledb.report import durable


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, hexadecimal."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_verified(path: Path, target: Path, half: Path) -> bool:
    """Copy a file with its time, first to ``half`` on the target's disk; return False if the target exists already.

    Raises:
        ConfigError: the target has other content.
        DamagedError: the copy differs from the file.
    """
    sha256 = hash_file(path)
    if target.exists():
        require_same(path, hash_file(target), sha256)
        return False
    shutil.copy2(path, half)
    require_whole(path, hash_file(half), sha256)
    durable.move(half, target)
    return True


def require_same(path: Path, there: str, sha256: str) -> None:
    """Raise ConfigError if the target has another file of this name."""
    if there != sha256:
        raise ConfigError(
            f"The target has another file {path.name}.", hint="Delete that report there, or leave it out here."
        )


def require_whole(path: Path, there: str, sha256: str) -> None:
    """Raise DamagedError if a copy differs from its source."""
    if there != sha256:
        raise DamagedError(f"{path.name} was damaged on the way.", hint="Run the command again.")
