"""Files whose content is compared by its SHA-256."""

import hashlib
import shutil
from pathlib import Path

from profiledb.errors import ConfigError, DamagedError
from profiledb.report import durable


def digest(path: Path) -> str:
    """The SHA-256 of a file's content, hexadecimal."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy(path: Path, target: Path, half: Path) -> bool:
    """Copies a file with its time, first to ``half`` on the target's disk; False where the same is there already.

    Raises:
        ConfigError, DamagedError: as those below.
    """
    sha256 = digest(path)
    if target.exists():
        require_same(path, digest(target), sha256)
        return False
    shutil.copy2(path, half)
    require_whole(path, digest(half), sha256)
    durable.move(half, target)
    return True


def require_same(path: Path, there: str, sha256: str) -> None:
    """Raises ConfigError where the target has another file of a name."""
    if there != sha256:
        raise ConfigError(
            f"The target has another file {path.name}.", hint="Delete that report there, or leave it out here."
        )


def require_whole(path: Path, there: str, sha256: str) -> None:
    """Raises DamagedError where what arrived is not what was sent."""
    if there != sha256:
        raise DamagedError(f"{path.name} did not arrive as it is.", hint="Run the command again.")
