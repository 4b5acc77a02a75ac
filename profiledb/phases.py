"""Phases of a program (forward, backward, optimizer): the patterns that find them in the names of ranges.

The rules stand in phases.toml. Nothing of them is kept in a report: they are applied at each query, by DuckDB's RE2.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from profiledb import config
from profiledb.errors import ConfigError
from profiledb.schema import quote

BUNDLED = Path(__file__).with_name("phases.toml")
NONE = "none"
"""The phase of what lies in no range that has one."""

ALL = "all"
"""What analyses call everything together; no phase can be called so."""

_KEYS = {"name": str, "title": str, "patterns": list}
_HINT = "Mend the file, or start without it; profiledb/phases.toml shows the form."


@dataclass(frozen=True)
class Phase:
    """A phase: its name in tables, and what people read."""

    name: str
    title: str


@dataclass(frozen=True)
class Rules:
    """The phases in the order in which pages show them, ``none`` last, and (pattern, phase) in the order of asking."""

    phases: tuple[Phase, ...]
    patterns: tuple[tuple[str, str], ...]


def load(override: Path | None = None) -> Rules:
    """The phases; the patterns of a user's own file are asked before the bundled ones.

    Raises:
        ConfigError: the user's file cannot be read or an entry of it is wrong; the message names file and entry.
    """
    return _load(override, override.stat().st_mtime_ns if override and override.exists() else 0)


def current() -> Rules:
    """The phases by this process's settings."""
    return load(config.load().phases)


def apply(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes ``phase_of`` and ``phase_place`` (views_phase.sql) of this cursor speak of the phases of the settings."""
    rules = current()
    whens = " ".join(
        f"WHEN regexp_matches(name, {quote(pattern)}, 'i') THEN {quote(name)}" for pattern, name in rules.patterns
    )
    names = ", ".join(quote(phase.name) for phase in rules.phases)
    cursor.execute(f"""
        CREATE OR REPLACE TEMP MACRO phase_of(name) AS CASE {whens} END;
        CREATE OR REPLACE TEMP MACRO phase_place(phase) AS list_position([{names}], phase)
    """)


@cache
def _load(override: Path | None, _changed: int) -> Rules:
    own = _read(override) if override else []
    bundled = _read(BUNDLED)
    names = [name for name in dict.fromkeys(e["name"] for e in bundled + own) if name != NONE]
    titles = {e["name"]: e["title"] for e in reversed(own + bundled) if e.get("title")}
    titles = {NONE: "No phase"} | titles
    return Rules(
        tuple(Phase(name, titles.get(name, name.replace("_", " ").capitalize())) for name in [*names, NONE]),
        tuple((pattern, e["name"]) for e in own + bundled for pattern in e.get("patterns", [])),
    )


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as phases.", hint=_HINT, detail=str(error)) from error
    entries = data.pop("phase", [])
    if data or not isinstance(entries, list):
        raise ConfigError(f"{path} holds something else than [[phase]] entries.", hint=_HINT, detail=", ".join(data))
    for number, entry in enumerate(entries, 1):
        _check(path, number, entry)
    return list(entries)


def _check(path: Path, number: int, entry: object) -> None:
    """Raises a ConfigError that says what is wrong with the entry of that number."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise ConfigError(f"{path}: phase entry {number} needs a name in lower case letters.", hint=_HINT)
    if name == ALL:
        raise ConfigError(f"{path}: no phase can be called {ALL!r}, which means all of them.", hint=_HINT)
    for key, value in entry.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise ConfigError(f"{path}: phase {name!r}: {key} = {value!r} is not understood.", hint=_HINT)
    _check_patterns(f"{path}: phase {name!r}", entry.get("patterns", []))


def _check_patterns(where: str, patterns: Sequence[object]) -> None:
    """Lets RE2 judge each pattern by itself, so that the error names the one that is wrong."""
    with duckdb.connect() as db:
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise ConfigError(f"{where}: a pattern is not a text: {pattern!r}.", hint=_HINT)
            try:
                row = db.execute(f"SELECT regexp_matches('', {quote(pattern)}, 'i')").fetchone()
            except duckdb.Error as error:
                words = f"{where}: the pattern {pattern!r} is no RE2 pattern."
                raise ConfigError(words, hint=_HINT, detail=str(error)) from error
            if row == (True,):
                raise ConfigError(f"{where}: the pattern {pattern!r} matches every name.", hint=_HINT)
