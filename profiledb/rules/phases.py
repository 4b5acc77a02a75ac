"""Phases of a program (forward, backward, optimizer), recognized by patterns of range names.

The rules are in phases.toml. Reports do not store phases: DuckDB's RE2 applies the rules in each query.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from profiledb import config
from profiledb.report.schema import quote
from profiledb.rules import reader

BUNDLED = Path(__file__).with_name("phases.toml")
NONE = "none"
"""The phase of work outside any range with a phase."""

ALL = "all"
"""The name that analyses use for all phases together; no phase may have it."""

_FORM = reader.Form(
    "phase",
    "phases",
    {"name": str, "title": str, "patterns": list},
    "Fix the file, or start without it; profiledb/rules/phases.toml shows the format.",
)


@dataclass(frozen=True)
class Phase:
    """A phase: its name in tables, and its display name."""

    name: str
    title: str


@dataclass(frozen=True)
class Rules:
    """The phases in display order, ``none`` last, and (pattern, phase) pairs in order of precedence."""

    phases: tuple[Phase, ...]
    patterns: tuple[tuple[str, str], ...]


def load(override: Path | None = None) -> Rules:
    """Return the phases. Patterns of a user's own file take precedence over the bundled ones.

    Raises:
        ConfigError: the user's file cannot be read or has an invalid entry; the message names file and entry.
    """
    return _load_rules(override, override.stat().st_mtime_ns if override and override.exists() else 0)


def read_current() -> Rules:
    """Return the phases that the settings of this process configure."""
    return load(config.load().phases)


def apply(cursor: duckdb.DuckDBPyConnection) -> None:
    """Redefine ``phase_of`` and ``phase_place`` (phase.sql) on this cursor for the configured phases."""
    known = read_current()
    whens = " ".join(
        f"WHEN regexp_matches(name, {quote(pattern)}, 'i') THEN {quote(name)}" for pattern, name in known.patterns
    )
    names = ", ".join(quote(phase.name) for phase in known.phases)
    cursor.execute(f"""
        CREATE OR REPLACE TEMP MACRO phase_of(name) AS CASE {whens} END;
        CREATE OR REPLACE TEMP MACRO phase_place(phase) AS list_position([{names}], phase)
    """)


@cache
def _load_rules(override: Path | None, _changed: int) -> Rules:
    own = _read_entries(override) if override else []
    bundled = _read_entries(BUNDLED)
    names = [name for name in dict.fromkeys(e["name"] for e in bundled + own) if name != NONE]
    titles = {e["name"]: e["title"] for e in reversed(own + bundled) if e.get("title")}
    titles = {NONE: "No phase"} | titles
    return Rules(
        tuple(Phase(name, titles.get(name, name.replace("_", " ").capitalize())) for name in [*names, NONE]),
        tuple((pattern, e["name"]) for e in own + bundled for pattern in e.get("patterns", [])),
    )


def _read_entries(path: Path) -> list[reader.Entry]:
    entries = reader.read(path, _FORM)
    if any(entry["name"] == ALL for entry in entries):
        raise _FORM.wrong(f"{path}: a phase cannot be called {ALL!r}, which means all phases.")
    reader.check_patterns(path, entries, _FORM)
    return entries
