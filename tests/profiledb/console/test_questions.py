"""Saved questions: bounded, written as a whole, and found by their ids alone."""

from pathlib import Path

import pytest

from profiledb.console import saved_questions
from profiledb.console.question_limits import LONGEST
from profiledb.console.saved_questions import Questions, open_questions
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library

HOSTILE = "<script>alert(1)</script> [x](http://y)\n\x1b[31m\u202e"


@pytest.fixture
def kept(catalog: Catalog, tmp_path: Path) -> Questions:
    """The questions of a folder, and of a team."""
    return open_questions(Library(tmp_path, catalog))


def test_a_question_is_kept_replaced_by_name_and_removed(kept: Questions, catalog: Catalog, tmp_path: Path) -> None:
    assert kept.all() == []
    first = kept.keep(HOSTILE, "SELECT 1")
    again = open_questions(Library(tmp_path, catalog)).keep(HOSTILE, "SELECT 2")
    assert again.id == first.id
    assert [one.sql for one in kept.all()] == ["SELECT 2"]
    assert "\n" not in first.name
    assert "\x1b" not in first.name
    kept.remove(first.id)
    kept.remove(first.id)
    assert kept.get(first.id) is None
    assert [(one.action, one.about) for one in catalog.audit.entries()] == [
        ("removed question", f"{first.name}: SELECT 2"),
        ("saved question", f"{first.name}: SELECT 2"),
        ("saved question", f"{first.name}: SELECT 1"),
    ]
    assert list(tmp_path.glob("questions/*")) == []


@pytest.mark.parametrize(
    "name", ["", "../../../etc/passwd", "x" * 12, "0123456789AB", "0123456789ab/../0123456789ab", "\0"]
)
def test_no_other_file_is_read_or_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / "questions").mkdir()
    other = tmp_path / "questions" / "other.json"
    other.write_text('{"name": "x", "sql": "SELECT 1"}')
    kept = open_questions(Library(tmp_path))
    kept.remove(name)
    assert kept.get(name) is None
    assert kept.all() == []
    assert other.exists()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"name": 1, "sql": "x"}', '{"name": "x"}', '{"name": "x", "sql": 5}', "\xff"]
)
def test_what_is_no_question_is_left_out(tmp_path: Path, content: str) -> None:
    kept = open_questions(Library(tmp_path))
    good = kept.keep("good", "SELECT 1")
    (tmp_path / "questions" / "0123456789ab.json").write_bytes(content.encode("latin-1"))
    assert kept.all() == [good]


def test_number_and_length_are_bounded(kept: Questions, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, sql in (("", "SELECT 1"), ("x" * 101, "SELECT 1"), ("x", " "), ("x", "x" * (LONGEST + 1))):
        with pytest.raises(AnalysisError):
            kept.keep(name, sql)
    longest = kept.keep("x" * 100, "\u20ac" * LONGEST)
    assert kept.get(longest.id) == longest
    monkeypatch.setattr(saved_questions, "MOST", 1)
    with pytest.raises(AnalysisError, match="at most 1"):
        kept.keep("another", "SELECT 1")
