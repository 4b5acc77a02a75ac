"""Tokens and saved questions: small files of a folder library, rows of a team's database."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from profiledb.report import durable

TABLES: dict[str, tuple[str, ...]] = {
    "question": ("id", "name", "sql"),
    "token": ("id", "name", "role", "digest", "created_at", "ends_at"),
}
"""Tables of a team (migrations/versions/r0001_catalog.py) with their columns, key first."""
TOKENS = "tokens.json"
QUESTIONS = "questions"
_LARGEST = 4_000_000
Row = Sequence[Any]


def read_rows(folder: Path, table: str) -> list[Row]:
    """Return the rows of one of the tables; foreign entries are left out."""
    columns = TABLES[table]
    entries = _read_tokens(folder) if table == "token" else _read_questions(folder)
    return [[one[name] for name in columns] for one in entries if set(columns) <= one.keys()]


def write_rows(folder: Path, table: str, rows: Iterable[Row]) -> None:
    """Write these rows in place of all present ones."""
    entries = [dict(zip(TABLES[table], row, strict=True)) for row in rows]
    if table == "token":
        if entries or (folder / TOKENS).exists():
            half = folder / f".{TOKENS}.part"
            half.unlink(missing_ok=True)
            half.touch(mode=0o600)
            durable.write_text(folder / TOKENS, json.dumps(entries, indent=1), half)
        return
    questions = folder / QUESTIONS
    questions.mkdir(exist_ok=True)
    for one in entries:
        name = one.pop("id")
        durable.write_text(questions / f"{name}.json", json.dumps(one), questions / f".{name}.part")
    for path in questions.glob("*.json"):
        if path.stem not in {str(row[0]) for row in rows}:
            path.unlink()


def _read_tokens(folder: Path) -> list[dict[str, Any]]:
    entries = _read_json(folder / TOKENS)
    known = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    return [{"ends_at": None} | one for one in known]  # those of earlier versions do not expire yet


def _read_questions(folder: Path) -> list[dict[str, Any]]:
    contents = [(path.stem, _read_json(path)) for path in sorted((folder / QUESTIONS).glob("*.json"))]
    return [{"id": stem} | content for stem, content in contents if isinstance(content, dict)]


def _read_json(path: Path) -> Any:
    with suppress(OSError, ValueError), path.open("rb") as file:
        return json.loads(file.read(_LARGEST))
    return None
