"""Retention rules: those of the file that WARPDECK_RETENTION names, else of a team ``DEFAULT``, else none."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiledb.config import Settings
from profiledb.errors import ConfigError

MOST_BYTES = 100_000
MOST_RULES = 1_000
_HINT = "Fix the file; docs/team.md shows the format. Nothing is removed meanwhile."
_TEXTS = ("kind", "series", "space")


@dataclass(frozen=True)
class Rule:
    """A rule that deletes reports of a given age. All conditions must hold.

    Args:
        days: age in days since the import.
        kind: only reports of this kind, such as nsys or ncu; empty for every kind.
        series: only reports in series whose names match this pattern, with ``*`` for any text; empty for all reports,
            whether in a series or not.
        space: only reports that are in this space and in no other; empty for all reports, whether in a space or not.
    """

    days: float
    kind: str = ""
    series: str = ""
    space: str = ""

    @property
    def words(self) -> str:
        """Return the rule in words, as part of a sentence."""
        conditions = [f"{name} {value}" for name in _TEXTS if (value := getattr(self, name))]
        return ", ".join([f"older than {self.days:g} days", *conditions])


@dataclass(frozen=True)
class Rules:
    """The rules of a file. Without any of them, nothing is deleted.

    Args:
        notice_days: announce each deletion so many days before it.
        uploads_days: delete files from the inbox after this many days if their reports are in the library.
        total_gb: size limit of all reports in units of 10**9 bytes; above it, the oldest are deleted.
        rules: which reports to delete by age.
    """

    uploads_days: float | None = None
    total_gb: float | None = None
    rules: tuple[Rule, ...] = ()
    notice_days: float = 3.0

    @property
    def words(self) -> list[str]:
        """Return a phrase for each rule that names the things it deletes."""
        phrases = [f"reports {rule.words}" for rule in self.rules]
        phrases += [] if self.total_gb is None else [f"the oldest reports above {self.total_gb:g} GB"]
        return phrases + ([] if self.uploads_days is None else [f"uploads older than {self.uploads_days:g} days"])


DEFAULT = Rules(rules=(Rule(30.0),))
"""Rules of a team that has set none: uploads stay, because they may be the only copy of what somebody recorded."""


def read_current(settings: Settings) -> Rules | None:
    """Return the rules in force; None if nothing is ever deleted.

    Raises:
        ConfigError: as ``load`` does.
    """
    if settings.retention is not None:
        return load(settings.retention)
    return DEFAULT if settings.retention_by_default else None


def load(path: Path) -> Rules:
    """Read the rules.

    Raises:
        ConfigError: the file cannot be read or has an invalid entry; then none of its rules applies.
    """
    try:
        with path.open("rb") as file:
            content: Mapping[str, Any] = tomllib.loads(file.read(MOST_BYTES).decode())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as rules of retention.", hint=_HINT, detail=str(error)) from error
    _check_keys(path, content, ("uploads_days", "total_gb", "notice_days", "rule"))
    several = content.get("rule", [])
    if not isinstance(several, list) or len(several) > MOST_RULES:
        raise ConfigError(f"{path}: rule must be sections, [[rule]].", hint=_HINT)
    return Rules(
        _read_number(path, content, "uploads_days"),
        _read_number(path, content, "total_gb"),
        tuple(_make_rule(path, one) for one in several),
        _read_number(path, content, "notice_days") or Rules.notice_days,
    )


def _make_rule(path: Path, section: Any) -> Rule:
    if not isinstance(section, Mapping):
        raise ConfigError(f"{path}: rule must be sections, [[rule]].", hint=_HINT)
    _check_keys(path, section, ("days", *_TEXTS))
    days = _read_number(path, section, "days")
    if days is None:
        raise ConfigError(f"{path}: a rule lacks its days.", hint=_HINT)
    texts = {name: section.get(name, "") for name in _TEXTS}
    for name, value in texts.items():
        if not isinstance(value, str) or (name in section and not value.strip()):
            raise ConfigError(f"{path}: {name} must be a text.", hint=_HINT)
    return Rule(days, **texts)


def _check_keys(path: Path, table: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Reject unknown keys: a misspelled condition must not turn a rule about few reports into one about all."""
    for name in table:
        if name not in names:
            raise ConfigError(f"{path}: {name!r} is no rule of retention.", hint=f"It has {', '.join(names)}.")


def _read_number(path: Path, table: Mapping[str, Any], name: str) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 1:
        raise ConfigError(f"{path}: {name} must be a number from 1 on, not {value!r}.", hint=_HINT)
    return float(value)
