"""Kernel classes (matmul, attention, ...): the patterns that assign kernel names to them, and their fixed colors.

The rules are in classes.toml. DuckDB's RE2 always evaluates them, so that results agree everywhere.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Literal

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
        name: identifier in tables and links.
        title: display name.
        patterns: RE2 patterns, searched case-insensitively in the demangled name.
        ranks: for each pattern, its position among the patterns of all classes; the lowest rank that matches wins.
        light, dark: the color in each theme, ``#RRGGBB``, the same on every page.
        besides: for each pattern, a pattern that another kernel of the report must match, or an empty string; empty if
            no pattern has such a condition.
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
    """A validated ``[[class]]`` entry of a file."""

    name: str
    title: str = ""
    light: str = ""
    dark: str = ""
    beside: str = ""
    patterns: tuple[str, ...] = field(default=())


@dataclass(frozen=True, order=True)
class _Ranked:
    """A pattern of a class with its rank among all patterns; the lowest rank that matches wins."""

    rank: int
    name: str
    pattern: str
    beside: str


def load(override: Path | None = None) -> list[KernelClass]:
    """Return the kernel classes in the order in which charts stack them, with ``other`` last.

    Args:
        override: a user's own file. Its patterns take precedence over the bundled ones. It may add classes and change
            the title or color of existing ones.

    Raises:
        ConfigError: the user's file cannot be read or has an invalid entry; the message names file, class and pattern,
            and the detail holds RE2's error message.
    """
    bundled = _read_entries(BUNDLED)
    own = _read_entries(override) if override else []
    ranked = _rank_patterns(own + bundled)
    names = [name for name in dict.fromkeys(e.name for e in bundled + own) if name != OTHER]
    known = {entry.name for entry in bundled}
    added = [name for name in names if name not in known]
    return [_merge_class(name, own + bundled, ranked, added) for name in [*names, OTHER]]


def build_case(column: str, classes: Sequence[KernelClass], names: str = "") -> str:
    """Return a SQL expression for the class of the kernel name in ``column``. NULL maps to ``other``.

    Args:
        column: a SQL expression for the name to classify.
        classes: the classes to choose from.
        names: a single-column query of all kernel names of the report, for patterns that require another kernel.
            Without it, those patterns never match.
    """
    ranked = sorted(
        _Ranked(rank, c.name, pattern, beside)
        for c in classes
        for rank, pattern, beside in zip(c.ranks, c.patterns, c.besides or ("",) * len(c.patterns), strict=True)
        if names or not beside
    )
    whens = [
        f"WHEN {_write_company(beside, names)}{_write_match(column, (one.pattern for one in group))} THEN {quote(name)}"
        for (name, beside), group in groupby(ranked, key=lambda one: (one.name, one.beside))
    ]
    return f"CASE {' '.join(whens)} ELSE {quote(OTHER)} END" if whens else quote(OTHER)


def get_colors(classes: Sequence[KernelClass], theme: Theme = "light") -> dict[str, str]:
    """Return the color of each class by name, as ``#RRGGBB``."""
    return {c.name: c.dark if theme == "dark" else c.light for c in classes}


def _read_entries(path: Path) -> list[_Entry]:
    entries = reader.read(path, _FORM)
    if path != BUNDLED:
        reader.check_patterns(path, entries, _FORM)
    return [_make_entry(path, entry) for entry in entries]


def _make_entry(path: Path, raw: reader.Entry) -> _Entry:
    """Convert an entry after checking its colors."""
    for theme in ("light", "dark"):
        if theme in raw and not re.fullmatch("#[0-9A-Fa-f]{6}", raw[theme]):
            raise _FORM.wrong(f"{path}: class {raw['name']!r}: {theme} must be a color such as #0072B2.")
    return _Entry(**{**raw, "patterns": tuple(raw.get("patterns", []))})


def _rank_patterns(entries: Sequence[_Entry]) -> list[_Ranked]:
    """Return every pattern of the entries, in order."""
    each = ((entry, pattern) for entry in entries for pattern in entry.patterns)
    return [_Ranked(rank, entry.name, pattern, entry.beside) for rank, (entry, pattern) in enumerate(each)]


def _merge_class(name: str, entries: Sequence[_Entry], ranked: Sequence[_Ranked], added: Sequence[str]) -> KernelClass:
    """Merge all entries of a class. The first entry that sets a title or color wins."""
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


def _write_match(column: str, patterns: Iterable[str]) -> str:
    return f"regexp_matches({column}, {quote(_join_patterns(patterns))}, 'i')"


def _write_company(beside: str, names: str) -> str:
    """Return the SQL condition for a kernel with a matching name, ending in AND, or "" if none is required."""
    if not beside:
        return ""
    return f"EXISTS (SELECT 1 FROM ({names}) AS kernels(beside) WHERE {_write_match('kernels.beside', [beside])}) AND "


def _join_patterns(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)
