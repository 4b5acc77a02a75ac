"""Kernel classes (matmul, attention, ...): the patterns that sort kernel names into them, and their fixed colors.

The rules stand in classes.toml; DuckDB's RE2 applies them, so that one engine decides everywhere.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Literal

import duckdb

from profiledb.report.schema import quote
from profiledb.rules import reader

BUNDLED = Path(__file__).with_name("classes.toml")
OTHER = "other"
Theme = Literal["light", "dark"]

_FORM = reader.Form(
    "class",
    "kernel classes",
    {"name": str, "title": str, "light": str, "dark": str, "patterns": list},
    "Fix the file, or start without it; profiledb/rules/classes.toml shows the format.",
)
_SPARE_COLORS = (("#117733", "#4FB36B"), ("#AA4499", "#D07BC4"), ("#999933", "#C2C25A"), ("#44AA99", "#6FD0C0"))


@dataclass(frozen=True)
class KernelClass:
    """A class of kernels.

    Attributes:
        name: identifier, as it stands in tables and links.
        title: what people read.
        patterns: RE2 patterns of the demangled name, searched without regard to case.
        ranks: for each pattern its place in the order of all patterns of all classes; the lowest that matches decides.
        light, dark: the color in the two themes, ``#RRGGBB``; the same on every page.
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
            give those that exist another title or color.

    Raises:
        ConfigError: the user's file cannot be read or an entry of it is wrong; the message names file, class and
            pattern, the detail holds RE2's own words.
    """
    bundled = _read(BUNDLED)
    own = _read(override) if override else []
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
    """The color of each class, by the class's name, as ``#RRGGBB``."""
    return {c.name: c.dark if theme == "dark" else c.light for c in classes}


def _read(path: Path) -> list[_Entry]:
    entries = reader.read(path, _FORM)
    if path != BUNDLED:
        reader.check_patterns(path, entries, _FORM)
    return [_entry(path, entry) for entry in entries]


def _entry(path: Path, raw: reader.Entry) -> _Entry:
    """The entry with its colors checked."""
    for theme in ("light", "dark"):
        if theme in raw and not re.fullmatch("#[0-9A-Fa-f]{6}", raw[theme]):
            raise _FORM.wrong(f"{path}: class {raw['name']!r}: {theme} must be a color such as #0072B2.")
    return _Entry(**{**raw, "patterns": tuple(raw.get("patterns", []))})


def _ranks(entries: Sequence[_Entry]) -> list[tuple[str, str, int]]:
    """(class, pattern, rank) of every pattern, in order."""
    pairs = [(entry.name, pattern) for entry in entries for pattern in entry.patterns]
    return [(name, pattern, rank) for rank, (name, pattern) in enumerate(pairs)]


def _merge(
    name: str, entries: Sequence[_Entry], ranks: Sequence[tuple[str, str, int]], added: Sequence[str]
) -> KernelClass:
    """All entries of a class as one; for title and colors the first that gives them counts."""
    mine = [entry for entry in entries if entry.name == name]
    own = [(pattern, rank) for owner, pattern, rank in ranks if owner == name]
    spare = _SPARE_COLORS[added.index(name) % len(_SPARE_COLORS)] if name in added else ("", "")
    return KernelClass(
        name=name,
        title=next((e.title for e in mine if e.title), name.replace("_", " ").capitalize()),
        patterns=tuple(pattern for pattern, _ in own),
        ranks=tuple(rank for _, rank in own),
        light=next((e.light for e in mine if e.light), spare[0]),
        dark=next((e.dark for e in mine if e.dark), spare[1]),
    )


def _either(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)
