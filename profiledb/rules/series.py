"""The rules of series.toml: which reports form a series, and which facts hold their commit, date and versions."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from profiledb import config
from profiledb.errors import ConfigError

BUNDLED = Path(__file__).with_name("series.toml")
FACTS = ("gpu", "kind", "command", "name")
"""Facts besides those under ``meta.`` and ``label.``."""
MOST_BYTES = 100_000
_FACT = re.compile(rf"(?:{'|'.join(FACTS)})|(?:meta|label)\.\S+")
_HINT = "Fix the file, or start without it; profiledb/rules/series.toml shows the format."


@dataclass(frozen=True)
class Rules:
    """The rules; series.toml documents each of them."""

    program: tuple[str, ...]
    apart: tuple[str, ...]
    ignore: tuple[str, ...]
    commit: tuple[str, ...]
    branch: tuple[str, ...]
    date: tuple[str, ...]
    versions: tuple[str, ...]


def read_current() -> Rules:
    """Return the rules that the settings of this process configure."""
    own = config.load().series
    return load(own)


def load(override: Path | None = None) -> Rules:
    """Return the rules. Those in a user's own file replace the bundled ones.

    Raises:
        ConfigError: the file cannot be read or has an invalid entry; the message names both.
    """
    try:
        stamp = override.stat().st_mtime_ns if override else 0
    except OSError as error:
        raise ConfigError(f"{override} cannot be read as rules of series.", hint=_HINT) from error
    return _load_rules(override, stamp)


@cache
def _load_rules(override: Path | None, stamp: int) -> Rules:  # noqa: ARG001 (part of the key)
    bundled = Rules(**{key: tuple(values) for key, values in tomllib.loads(BUNDLED.read_text("utf-8")).items()})
    return replace(bundled, **_read_own(override)) if override else bundled


def _read_own(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        with path.open("rb") as file:
            content: Mapping[str, Any] = tomllib.loads(file.read(MOST_BYTES).decode())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as rules of series.", hint=_HINT, detail=str(error)) from error
    return {key: _check_values(path, key, values) for key, values in content.items()}


def _check_values(path: Path, key: str, values: object) -> tuple[str, ...]:
    if key not in Rules.__dataclass_fields__:
        known = ", ".join(Rules.__dataclass_fields__)
        raise ConfigError(f"{path}: {key!r} is no rule of series.", hint=f"It has {known}.")
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ConfigError(f"{path}: {key} is not a list of texts.", hint=_HINT)
    for value in values:
        if key == "ignore":
            _check_pattern(path, value)
        elif not _FACT.fullmatch(value):
            raise ConfigError(
                f"{path}: {key}: {value!r} is no fact.", hint=f"It is one of {', '.join(FACTS)}, meta.KEY or label.KEY."
            )
    return tuple(values)


def _check_pattern(path: Path, value: str) -> None:
    try:
        re.compile(value)
    except re.error as error:
        raise ConfigError(f"{path}: ignore: {value!r} is not a regular expression.", detail=str(error)) from error
