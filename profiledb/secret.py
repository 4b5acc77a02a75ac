"""Passwords and keys from the environment, or from files, as containers get them."""

import os
from pathlib import Path

from profiledb.errors import ConfigError


def read_secret(name: str) -> str:
    """Return the variable of this name, or the content of the file that ``NAME_FILE`` names; empty without either.

    Raises:
        ConfigError: the file does not exist or cannot be read.
    """
    if given := os.environ.get(name, ""):
        return given
    path = os.environ.get(f"{name}_FILE", "").strip()
    try:
        return Path(path).read_text(encoding="utf-8").strip() if path else ""
    except (OSError, ValueError):
        raise ConfigError(f"The file that {name}_FILE names cannot be read.") from None
