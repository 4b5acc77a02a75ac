"""All rules: the built-in ones, and those of a user's folder (WARPDECK_RULES), which extend or override them.

The folder holds rule files in the built-in format, ``NAME.sql`` or ``GROUP/NAME.sql``. It may also hold
``thresholds.toml``, with one table of parameter values per rule::

    [gpu_idle]
    threshold = 25
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import duckdb

from profiledb.errors import AnalysisError, ConfigError
from profiledb.findings import rule as rules
from profiledb.findings.rule import Rule
from profiledb.query import header

THRESHOLDS = "thresholds.toml"
MOST_BYTES = 1 << 18
"""Size limit of a file in a user's folder, in bytes."""
MOST_RULES = 500
_NAME = re.compile(r"[a-z][a-z0-9_]{2,60}")


def load(folder: Path | None = None) -> dict[str, Rule]:
    """Return all rules by name, in the order of ``rule.GROUPS``.

    Raises:
        ConfigError: a file of the user's folder is not a valid rule, or a threshold matches none; the message names the
            file.
    """
    if folder is None:
        return dict(_load_built_in())
    all_rules = dict(_load_built_in()) | {one.name: one for one in _load_own(folder)}
    for name, values in _read_thresholds(folder / THRESHOLDS).items():
        if name not in all_rules:
            raise ConfigError(
                f"{folder / THRESHOLDS}: no rule is called {name!r}.", hint="warpdeck findings --rules lists all."
            )
        all_rules[name] = set_values(all_rules[name], values)
    return _order_rules(all_rules.values())


def set_values(rule: Rule, values: Mapping[str, object]) -> Rule:
    """Return the rule with other default values of its parameters.

    Raises:
        ConfigError: a parameter does not exist, a value is not one of its choices, or a threshold is not a number.
    """
    try:
        header.bind(rule.analysis, values)
        float(str(values.get("threshold", 0)))
    except AnalysisError as error:
        raise ConfigError(f"Rule {rule.name}: {error.message}", hint=error.hint) from error
    except ValueError as error:
        raise ConfigError(f"Rule {rule.name}: the threshold is no number: {values['threshold']!r}.") from error
    changed = [replace(one, default=str(values.get(one.name, one.default))) for one in rule.analysis.params]
    return replace(rule, analysis=replace(rule.analysis, params=tuple(changed)))


def _order_rules(all_rules: object) -> dict[str, Rule]:
    order = list(rules.GROUPS)
    ranked = sorted(all_rules, key=lambda one: (order.index(one.group), one.name))  # type: ignore[call-overload]
    return {one.name: one for one in ranked}


@cache
def _load_built_in() -> Mapping[str, Rule]:
    package = resources.files("profiledb").joinpath("rules", "findings")
    folders = {group: package.joinpath(group) for group in rules.GROUPS}
    parsed = [
        rules.parse(file.name[:-4], file.read_text(encoding="utf-8"), group)
        for group, folder in folders.items()
        for file in (folder.iterdir() if folder.is_dir() else ())
    ]
    return _order_rules(parsed)


def _load_own(folder: Path) -> list[Rule]:
    try:
        files = sorted(folder.glob("*.sql")) + sorted(folder.glob("*/*.sql"))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
    if not folder.is_dir():
        raise ConfigError(f"{folder}, named by WARPDECK_RULES, is no folder.")
    if len(files) > MOST_RULES:
        raise ConfigError(f"{folder} holds more than {MOST_RULES} rules.")
    return [_read_rule(file, folder) for file in files]


def _read_rule(file: Path, folder: Path) -> Rule:
    name = file.stem
    built_in = _load_built_in().get(name)
    group = file.parent.name if file.parent != folder else built_in.group if built_in else next(iter(rules.GROUPS))
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{file}: the name of a rule is made of lowercase letters, digits and underscores.")
    try:
        text = _read_text(file)
        rule = rules.parse(name, text, group, own=True)
    except AnalysisError as error:
        raise ConfigError(f"{file}: {error.message}", hint=error.hint, detail=error.detail) from error
    require_queries(rule, file)
    return rule


def _read_text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{file} is too large for a rule.")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as a rule.", detail=str(error)) from error


def require_queries(rule: Rule, file: Path) -> None:
    """Raise ConfigError unless a rule has queries alone: it may read a report and do nothing else."""
    try:
        statements = duckdb.extract_statements(rule.analysis.sql)
    except duckdb.Error as error:
        raise ConfigError(f"{file} is not SQL that DuckDB can read.", detail=str(error)) from error
    if {statement.type for statement in statements} != {duckdb.StatementType.SELECT}:
        raise ConfigError(f"{file} must hold queries and nothing else.")


def _read_thresholds(file: Path) -> dict[str, dict[str, object]]:
    if not file.exists():
        return {}
    try:
        data = tomllib.loads(_read_text(file))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} cannot be read as thresholds.", detail=str(error)) from error
    if wrong := [name for name, values in data.items() if not isinstance(values, dict)]:
        raise ConfigError(f"{file}: {wrong[0]!r} is no table of a rule.")
    return data
