"""Read TOML files of rules: entries of one kind, each with a name and RE2 patterns (classes.toml, phases.toml)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from profiledb.errors import ConfigError
from profiledb.report.schema import quote

Entry = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """The schema of a rules file.

    Attributes:
        kind: the key of its entries, and the word for one of them in messages.
        title: the word for all of them in messages.
        keys: the keys of an entry with their types; ``name`` is required, and ``patterns`` are strings.
        hint: how to fix an invalid file.
    """

    kind: str
    title: str
    keys: Mapping[str, type]
    hint: str

    def wrong(self, message: str, detail: str = "") -> ConfigError:
        """Return the error for an invalid file, with the hint."""
        return ConfigError(message, hint=self.hint, detail=detail)


def read(path: Path, form: Form) -> list[Entry]:
    """Return the entries of a file. ``check_patterns`` validates their patterns.

    Raises:
        ConfigError: the file cannot be read or has an invalid entry; the message names file and entry.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise form.wrong(f"{path} cannot be read as {form.title}.", str(error)) from error
    entries = data.pop(form.kind, [])
    if data or not isinstance(entries, list):
        raise form.wrong(f"{path} has something other than [[{form.kind}]] entries.", ", ".join(data))
    return [_check_entry(path, number, entry, form) for number, entry in enumerate(entries, 1)]


def _check_entry(path: Path, number: int, entry: object, form: Form) -> Entry:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise form.wrong(f"{path}: {form.kind} entry {number} needs a name in lowercase letters.")
    where = f"{path}: {form.kind} {name!r}"
    for key, value in entry.items():
        if key not in form.keys or not isinstance(value, form.keys[key]):
            raise form.wrong(f"{where}: {key} = {value!r} is not understood.")
    for pattern in entry.get("patterns", []):
        if not isinstance(pattern, str):
            raise form.wrong(f"{where}: a pattern is not text: {pattern!r}.")
    return entry


def check_patterns(path: Path, entries: Sequence[Entry], form: Form) -> None:
    """Validate each pattern separately with RE2, ``beside`` included, so that the error names the invalid one.

    Raises:
        ConfigError: a pattern is invalid or matches every name; the detail holds RE2's error message.
    """
    with duckdb.connect() as db:
        for entry in entries:
            for pattern in [*entry.get("patterns", []), *filter(None, [entry.get("beside")])]:
                where = f"{path}: {form.kind} {entry['name']!r}: the pattern {pattern!r}"
                try:
                    row = db.execute(f"SELECT regexp_matches('', {quote(pattern)}, 'i')").fetchone()
                except duckdb.Error as error:
                    raise form.wrong(f"{where} is not an RE2 pattern.", str(error)) from error
                if row == (True,):
                    raise form.wrong(f"{where} matches every name.")
