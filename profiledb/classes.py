"""Kernel classes (matmul, attention, ...): the patterns that sort kernel names into them, and their fixed colours.

The rules stand in classes.toml; DuckDB's RE2 applies them, so that one engine decides everywhere.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Literal

import duckdb

from profiledb.errors import ConfigError
from profiledb.schema import quote

BUNDLED = Path(__file__).with_name("classes.toml")
OTHER = "other"
Theme = Literal["light", "dark"]

_KEYS = {"name": str, "title": str, "light": str, "dark": str, "patterns": list}
_SPARE_COLORS = (("#117733", "#4FB36B"), ("#AA4499", "#D07BC4"), ("#999933", "#C2C25A"), ("#44AA99", "#6FD0C0"))
_HINT = "Mend the file, or start without it; profiledb/classes.toml shows the form."


@dataclass(frozen=True)
class KernelClass:
    """A class of kernels.

    Attributes:
        name: identifier, as it stands in tables and links.
        title: what people read.
        patterns: RE2 patterns of the demangled name, searched without regard to case.
        ranks: for each pattern its place in the order of all patterns of all classes; the lowest that matches decides.
        light, dark: the colour in the two themes, ``#RRGGBB``; the same on every page.
    """

    name: str
    title: str
    patterns: tuple[str, ...]
    ranks: tuple[int, ...]
    light: str
    dark: str


@dataclass(frozen=True)
class _Entry:
    """One ``[[class]]`` of a file, checked."""

    name: str
    title: str = ""
    light: str = ""
    dark: str = ""
    patterns: tuple[str, ...] = field(default=())


def load(override: Path | None = None) -> list[KernelClass]:
    """The kernel classes in the order in which charts stack them, ``other`` last.

    Args:
        override: a user's own file. Its patterns are asked before the bundled ones; it may introduce classes, and
            give those that exist another title or colour.

    Raises:
        ConfigError: the user's file cannot be read or an entry of it is wrong; the message names file, class and
            pattern, the detail holds RE2's own words.
    """
    bundled = _read(BUNDLED)
    own = _read(override) if override else []
    if override:
        _check_patterns(override, own)
    ranks = _ranks(own + bundled)
    names = [name for name in dict.fromkeys(e.name for e in bundled + own) if name != OTHER]
    known = {entry.name for entry in bundled}
    added = [name for name in names if name not in known]
    return [_merge(name, own + bundled, ranks, added) for name in [*names, OTHER]]


def case_sql(column: str, classes: Sequence[KernelClass]) -> str:
    """A SQL expression: the class's name for the kernel name in ``column`` (an expression; NULL gives ``other``)."""
    ranked = sorted((rank, pattern, c.name) for c in classes for rank, pattern in zip(c.ranks, c.patterns, strict=True))
    whens = [
        f"WHEN regexp_matches({column}, {quote(_either(p for _, p, _ in group))}, 'i') THEN {quote(name)}"
        for name, group in groupby(ranked, key=lambda row: row[2])
    ]
    return f"CASE {' '.join(whens)} ELSE {quote(OTHER)} END" if whens else quote(OTHER)


def classify(names: Iterable[str], classes: Sequence[KernelClass]) -> dict[str, str]:
    """The class's name of each kernel name, through DuckDB: the answer that ``case_sql`` gives in a report."""
    sql = f"SELECT name, {case_sql('name', classes)} FROM (SELECT unnest(?::VARCHAR[]) AS name)"
    with duckdb.connect() as db:
        return dict(db.execute(sql, [list(dict.fromkeys(names))]).fetchall())


def colors(classes: Sequence[KernelClass], theme: Theme = "light") -> dict[str, str]:
    """The colour of each class, by the class's name, as ``#RRGGBB``."""
    return {c.name: c.dark if theme == "dark" else c.light for c in classes}


def _read(path: Path) -> list[_Entry]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as kernel classes.", hint=_HINT, detail=str(error)) from error
    entries = data.pop("class", [])
    if data or not isinstance(entries, list):
        raise ConfigError(f"{path} holds something else than [[class]] entries.", hint=_HINT, detail=", ".join(data))
    return [_entry(path, number, raw) for number, raw in enumerate(entries, 1)]


def _entry(path: Path, number: int, raw: object) -> _Entry:
    """The entry of that number, or a ConfigError that says what is wrong with it."""
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise ConfigError(f"{path}: class entry {number} needs a name in lower case letters.", hint=_HINT)
    for key, value in raw.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise ConfigError(f"{path}: class {name!r}: {key} = {value!r} is not understood.", hint=_HINT)
    for theme in ("light", "dark"):
        if theme in raw and not re.fullmatch("#[0-9A-Fa-f]{6}", raw[theme]):
            raise ConfigError(f"{path}: class {name!r}: {theme} must be a colour such as #0072B2.", hint=_HINT)
    patterns = raw.get("patterns", [])
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise ConfigError(f"{path}: class {name!r}: a pattern is not a text: {patterns!r}.", hint=_HINT)
    return _Entry(**{**raw, "patterns": tuple(patterns)})


def _check_patterns(path: Path, entries: Sequence[_Entry]) -> None:
    """Let RE2 judge each pattern by itself, so that the error names the one that is wrong."""
    with duckdb.connect() as db:
        for entry in entries:
            for pattern in entry.patterns:
                where = f"{path}: class {entry.name!r}: the pattern {pattern!r}"
                try:
                    row = db.execute(f"SELECT regexp_matches('', {quote(pattern)}, 'i')").fetchone()
                except duckdb.Error as error:
                    raise ConfigError(f"{where} is no RE2 pattern.", hint=_HINT, detail=str(error)) from error
                if row == (True,):
                    raise ConfigError(f"{where} matches every name.", hint=_HINT)


def _ranks(entries: Sequence[_Entry]) -> list[tuple[str, str, int]]:
    """(class, pattern, rank) of every pattern, in order."""
    pairs = [(entry.name, pattern) for entry in entries for pattern in entry.patterns]
    return [(name, pattern, rank) for rank, (name, pattern) in enumerate(pairs)]


def _merge(
    name: str, entries: Sequence[_Entry], ranks: Sequence[tuple[str, str, int]], added: Sequence[str]
) -> KernelClass:
    """All entries of a class as one; for title and colours the first that gives them counts."""
    mine = [entry for entry in entries if entry.name == name]
    rules = [(pattern, rank) for owner, pattern, rank in ranks if owner == name]
    spare = _SPARE_COLORS[added.index(name) % len(_SPARE_COLORS)] if name in added else ("", "")
    return KernelClass(
        name=name,
        title=next((e.title for e in mine if e.title), name.replace("_", " ").capitalize()),
        patterns=tuple(pattern for pattern, _ in rules),
        ranks=tuple(rank for _, rank in rules),
        light=next((e.light for e in mine if e.light), spare[0]),
        dark=next((e.dark for e in mine if e.dark), spare[1]),
    )


def _either(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)
