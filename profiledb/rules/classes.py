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
    {"name": str, "title": str, "light": str, "dark": str, "beside": str, "patterns": list},
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
        besides: for each pattern what another kernel of the report must be called for it to hold, or nothing; empty
            where no pattern asks for company.
    """

    name: str
    title: str
    patterns: tuple[str, ...]
    ranks: tuple[int, ...]
    light: str
    dark: str
    besides: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Entry:
    """One ``[[class]]`` of a file, checked."""

    name: str
    title: str = ""
    light: str = ""
    dark: str = ""
    beside: str = ""
    patterns: tuple[str, ...] = field(default=())


@dataclass(frozen=True, order=True)
class _Ranked:
    """A pattern of a class at its place in the order of all; the lowest rank that matches decides."""

    rank: int
    name: str
    pattern: str
    beside: str


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
    ranked = _ranked(own + bundled)
    names = [name for name in dict.fromkeys(e.name for e in bundled + own) if name != OTHER]
    known = {entry.name for entry in bundled}
    added = [name for name in names if name not in known]
    return [_merge(name, own + bundled, ranked, added) for name in [*names, OTHER]]


def case_sql(column: str, classes: Sequence[KernelClass], names: str = "") -> str:
    """A SQL expression: the class's name for the kernel name in ``column`` (an expression; NULL gives ``other``).

    Args:
        column: the name to classify.
        classes: the classes to choose from.
        names: a query of all kernel names of the report, in one column, where patterns look for company; without it
            those that ask for company do not hold.
    """
    ranked = sorted(
        _Ranked(rank, c.name, pattern, beside)
        for c in classes
        for rank, pattern, beside in zip(c.ranks, c.patterns, c.besides or ("",) * len(c.patterns), strict=True)
        if names or not beside
    )
    whens = [
        f"WHEN {_company(beside, names)}{_matches(column, (one.pattern for one in group))} THEN {quote(name)}"
        for (name, beside), group in groupby(ranked, key=lambda one: (one.name, one.beside))
    ]
    return f"CASE {' '.join(whens)} ELSE {quote(OTHER)} END" if whens else quote(OTHER)


def classify(names: Iterable[str], classes: Sequence[KernelClass]) -> dict[str, str]:
    """The class's name of each kernel name of one report, through DuckDB: the answer that ``case_sql`` gives there."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE kernel AS SELECT unnest(?::VARCHAR[]) AS name", [list(dict.fromkeys(names))])
        rows = db.execute(f"SELECT name, {case_sql('name', classes, 'SELECT name FROM kernel')} FROM kernel")
        return dict(rows.fetchall())


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


def _ranked(entries: Sequence[_Entry]) -> list[_Ranked]:
    """Every pattern of the entries, in order."""
    each = ((entry, pattern) for entry in entries for pattern in entry.patterns)
    return [_Ranked(rank, entry.name, pattern, entry.beside) for rank, (entry, pattern) in enumerate(each)]


def _merge(name: str, entries: Sequence[_Entry], ranked: Sequence[_Ranked], added: Sequence[str]) -> KernelClass:
    """All entries of a class as one; for title and colors the first that gives them counts."""
    mine = [entry for entry in entries if entry.name == name]
    own = [one for one in ranked if one.name == name]
    spare = _SPARE_COLORS[added.index(name) % len(_SPARE_COLORS)] if name in added else ("", "")
    return KernelClass(
        name=name,
        title=next((e.title for e in mine if e.title), name.replace("_", " ").capitalize()),
        patterns=tuple(one.pattern for one in own),
        ranks=tuple(one.rank for one in own),
        light=next((e.light for e in mine if e.light), spare[0]),
        dark=next((e.dark for e in mine if e.dark), spare[1]),
        besides=tuple(one.beside for one in own) if any(one.beside for one in own) else (),
    )


def _matches(column: str, patterns: Iterable[str]) -> str:
    return f"regexp_matches({column}, {quote(_either(patterns))}, 'i')"


def _company(beside: str, names: str) -> str:
    """SQL that begins a condition: whether a kernel of the report is called so; nothing where none is asked for."""
    if not beside:
        return ""
    return f"EXISTS (SELECT 1 FROM ({names}) AS kernels(beside) WHERE {_matches('kernels.beside', [beside])}) AND "


def _either(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)
