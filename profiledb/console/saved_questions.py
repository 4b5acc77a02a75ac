"""Saved questions: a name and a SELECT each, identified by an id.

Each is a file in the library's folder, or for a team a row in the catalog's database.
"""

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from profiledb.console.question_limits import LONGEST
from profiledb.errors import AnalysisError, WarpdeckError
from profiledb.library.audit import Audit
from profiledb.library.database import Shared
from profiledb.library.library import Library
from profiledb.report import durable
from profiledb.words import visible

MOST = 500
"""Questions per library."""
LONGEST_NAME = 100
"""Length limit of a name, in characters."""

_ID = re.compile(r"[0-9a-f]{12}")
_LARGEST = 6 * (LONGEST + LONGEST_NAME) + 200
"""Size limit of a file in bytes: JSON needs at most six per character."""


@dataclass(frozen=True)
class Question:
    """A saved question; name and SQL are as somebody typed them."""

    id: str
    name: str
    sql: str


class Questions:
    """The questions of a folder. Every call reads it, so processes may share it; the audit records changes."""

    def __init__(self, library: Path, audit: Audit) -> None:
        self._folder = library / "questions"
        self._audit = audit

    def all(self) -> list[Question]:
        """Return all questions by name; foreign files are left out."""
        questions = [question for path in self._list_files() if (question := self.get(path.stem))]
        return sorted(questions, key=lambda one: (one.name.casefold(), one.id))

    def get(self, question_id: str) -> Question | None:
        """Return a question by id; None if it is unknown."""
        if not _ID.fullmatch(question_id):
            return None
        try:
            with self._get_path(question_id).open("rb") as file:
                stored = json.loads(file.read(_LARGEST))
            name, sql = stored["name"], stored["sql"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(name, str) or not isinstance(sql, str) or len(sql) > LONGEST:
            return None
        return Question(question_id, name[:LONGEST_NAME], sql)

    def keep(self, name: str, sql: str) -> Question:
        """Save a question under a name; a question with that name is replaced and keeps its id.

        Raises:
            AnalysisError: name or question is empty or too long, or there are too many.
            WarpdeckError: the folder cannot be written.
        """
        name = " ".join(visible(name).split())
        if not name or len(name) > LONGEST_NAME:
            raise AnalysisError(f"A question takes a name of 1 to {LONGEST_NAME} characters.")
        if not sql.strip() or len(sql) > LONGEST:
            raise AnalysisError(f"A question has 1 to {LONGEST:,} characters.")
        known = self.all()
        same = next((one for one in known if one.name == name), None)
        if same is None and len(known) >= MOST:
            raise AnalysisError(f"A library keeps at most {MOST} questions.", hint="Remove some first.")
        question = Question(same.id if same else secrets.token_hex(6), name, sql)
        self._write_question(question)
        return question

    def _write_question(self, question: Question) -> None:
        text = json.dumps({"name": question.name, "sql": question.sql}, ensure_ascii=True)
        try:
            self._folder.mkdir(exist_ok=True)
            durable.write_text(self._get_path(question.id), text, self._folder / f".{question.id}.{os.getpid()}")
        except OSError as error:
            raise WarpdeckError(f"The question cannot be kept: {error.strerror}.") from error
        self._audit.write("saved question", about=_describe_question(question))

    def remove(self, question_id: str) -> None:
        """Remove a question, if it exists."""
        question = self.get(question_id)
        if _ID.fullmatch(question_id):
            with suppress(OSError):
                self._get_path(question_id).unlink(missing_ok=True)
        if question:
            self._audit.write("removed question", about=_describe_question(question))

    def _list_files(self) -> list[Path]:
        try:
            names = sorted(path for path in self._folder.iterdir() if path.suffix == ".json")
        except OSError:
            return []
        return names[:MOST]

    def _get_path(self, question_id: str) -> Path:
        return self._folder / f"{question_id}.json"


class SharedQuestions(Questions):
    """The questions of a team."""

    def __init__(self, shared: Shared, audit: Audit) -> None:
        self._connect = shared.connect
        self._audit = audit

    def all(self) -> list[Question]:
        with self._connect() as db:
            rows = db.execute("SELECT id, name, sql FROM question ORDER BY id LIMIT ?", [MOST]).fetchall()
        return sorted((Question(*row) for row in rows), key=lambda one: (one.name.casefold(), one.id))

    def get(self, question_id: str) -> Question | None:
        with self._connect() as db:
            row = db.execute("SELECT id, name, sql FROM question WHERE id = ?", [question_id]).fetchone()
        return Question(*row) if row else None

    def remove(self, question_id: str) -> None:
        with self._connect() as db:
            query = "DELETE FROM question WHERE id = ? RETURNING id, name, sql"
            if row := db.execute(query, [question_id]).fetchone():
                self._audit.note(db, "removed question", about=_describe_question(Question(*row)))

    def _write_question(self, question: Question) -> None:
        with self._connect() as db:
            db.execute(
                "INSERT INTO question (id, name, sql) VALUES (?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET sql = excluded.sql",
                [question.id, question.name, question.sql],
            )
            self._audit.note(db, "saved question", about=_describe_question(question))


def _describe_question(question: Question) -> str:
    """Describe a question for the audit."""
    return f"{question.name}: {question.sql}"


def open_questions(library: Library) -> Questions:
    """Return the questions of a library, wherever its catalog is."""
    shared, audit = library.catalog.shared, library.catalog.audit
    return SharedQuestions(shared, audit) if shared else Questions(library.folder, audit)
