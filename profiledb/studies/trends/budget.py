"""Budgets: limits for a report, in a TOML file beside the code.

``[most]`` has figures per step with their unit in the name, ``[most.range_ms]`` the kernel time of ranges, ``never``
lists findings that must not fire, and ``[growth_pct]`` limits how far a measure may exceed its base. docs/ci.md shows
one.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profiledb.errors import AnalysisError, ConfigError
from profiledb.studies.trends.measures import FINDING, MEASURES, shorten_name
from profiledb.studies.trends.summary_store import Row

MOST_BYTES = 64_000
MOST_RANGES = 100
KEYS = {
    "step_ms": ("wall_ns", 1e6), "busy_ms": ("busy_ns", 1e6), "kernels_ms": ("kernel_ns", 1e6),
    "idle_ms": ("idle_ns", 1e6), "copies_ms": ("copy_ns", 1e6), "launches": ("launches", 1.0),
    "copied_mb": ("copy_bytes", 1e6), "memory_gb": ("memory_bytes", 1e9), "energy_j": ("energy_j", 1.0),
    "findings": ("findings", 1.0),
}  # fmt: skip
"""Figures that may be bounded: the measure, and its units per unit of the budget."""
RANGES = "range_ms"
_HINT = "docs/ci.md shows a file of budgets."


@dataclass(frozen=True)
class Budget:
    """Limits of measures and of ranges, and allowed growth in percent."""

    most: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, float] = field(default_factory=dict)
    growth_pct: Mapping[str, float] = field(default_factory=dict)
    never: tuple[str, ...] = ()


@dataclass(frozen=True)
class BudgetResult:
    """A budget and the report's value, in the unit of the budget; a finding that fires is 1 of 0."""

    name: str
    value: float
    most: float

    @property
    def holds(self) -> bool:
        """True if the report stays within the budget."""
        return self.value <= self.most


def read_budget(path: Path, rules: Sequence[str]) -> Budget:
    """Read a file of budgets; ``rules`` are the names of all findings.

    Raises:
        ConfigError: it cannot be read, or an entry is invalid; the message names the entry.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"{path} is larger than {MOST_BYTES // 1000} KB.", hint=_HINT)
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.", hint=_HINT) from error
    _check_keys(path, "", document, ("most", "growth_pct", "never"))
    most = dict(_read_table(path, "most", document))
    ranges = _read_numbers(path, f"most.{RANGES}", _read_table(path, RANGES, most, f"most.{RANGES}"))
    most.pop(RANGES, None)
    _check_keys(path, "most", most, KEYS)
    growth = _read_table(path, "growth_pct", document)
    _check_keys(path, "growth_pct", growth, MEASURES)
    if len(ranges) > MOST_RANGES:
        raise ConfigError(f"{path}: most.{RANGES} has more than {MOST_RANGES} ranges.", hint=_HINT)
    never = document.get("never", [])
    if not isinstance(never, list) or not all(isinstance(name, str) for name in never):
        raise ConfigError(f"{path}: never is not a list of findings.", hint=_HINT)
    if unknown := [name for name in never if name not in rules]:
        raise ConfigError(
            f"{path}: never: there is no finding {unknown[0][:80]!r}.", hint="warpdeck findings --rules lists all."
        )
    return Budget(_read_numbers(path, "most", most), ranges, _read_numbers(path, "growth_pct", growth), tuple(never))


def check_budget(budget: Budget, rows: Sequence[Row]) -> list[BudgetResult]:
    """Return each budget with the report's value.

    Raises:
        AnalysisError: the report has no such value: an unmeasured budget must not pass.
    """
    known = {(row.measure, row.name): row.value for row in rows}
    held = []
    for name, most in budget.most.items():
        measure, unit = KEYS[name]
        if (value := known.get((measure, ""))) is None:
            raise AnalysisError(f"{MEASURES[measure].title} is not in this report, so {name} cannot be checked.")
        held.append(BudgetResult(name, value / unit, most))
    for pattern, most in budget.ranges.items():
        held.append(BudgetResult(f"{RANGES} {pattern}", _sum_range_time(known, pattern) / 1e6, most))
    if budget.never and ("findings", "") not in known:
        raise AnalysisError("The report was not judged, so its findings cannot be checked.")
    return held + [BudgetResult(name, float((FINDING, name) in known), 0.0) for name in budget.never]


def _sum_range_time(known: Mapping[tuple[str, str], float], pattern: str) -> float:
    """Return the kernel time of a range, by its whole path or its last name."""
    name = shorten_name(pattern)
    times = {path: value for (measure, path), value in known.items() if measure == "range"}
    times_of_name = [value for path, value in times.items() if path == name or path.rpartition("/")[2] == name]
    if not times_of_name:
        raise AnalysisError(
            f"No range {pattern[:80]!r} is in this report, so its time cannot be checked.",
            hint=f"It has {', '.join(sorted(times)[:8])}." if times else "",
        )
    return sum(times_of_name)


def _read_table(path: Path, name: str, content: Mapping[str, Any], title: str = "") -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {title or name} is not a table.", hint=_HINT)
    return table


def _check_keys(path: Path, table: str, content: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str]) -> None:
    if unknown := [name for name in content if name not in known]:
        where = f"{table}." if table else ""
        raise ConfigError(f"{path}: {where}{unknown[0][:80]} is no budget.", hint=f"There are {', '.join(known)}.")


def _read_numbers(path: Path, table: str, content: Mapping[str, Any]) -> dict[str, float]:
    for name, value in content.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value >= 0):
            raise ConfigError(f"{path}: {table}.{name[:80]} is not a number from 0 up.", hint=_HINT)
    return {name: float(value) for name, value in content.items()}
