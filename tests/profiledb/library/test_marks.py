"""Marks that people leave on a report, and hostile ones from a browser."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from profiledb.errors import AnalysisError
from profiledb.library import catalog_repair, marks
from profiledb.library.catalog import FILE, Catalog
from profiledb.library.marks import LONGEST, MOST, Mark

ONE, TWO = "1" * 16, "2" * 16


def test_marks_are_written_one_by_one(catalog: Catalog) -> None:
    """Two people who write at the same time do not change each other's marks."""
    catalog.marks.change(ONE, [Mark(5, "five"), Mark(-3, "before")])
    catalog.marks.change(ONE, [Mark(7, "seven")])
    catalog.marks.change(TWO, [Mark(5, "of another")])
    catalog.marks.change(ONE, [Mark(5, "new words"), Mark(99, "")])
    assert catalog.marks.get(ONE) == [Mark(-3, "before"), Mark(5, "new words"), Mark(7, "seven")]
    catalog.marks.change(ONE, [Mark(5, "")])
    assert [mark.t_ns for mark in catalog.marks.get(ONE)] == [-3, 7]
    catalog.remove_report(ONE)
    assert catalog.marks.get(ONE) == []
    assert catalog.marks.get(TWO) == [Mark(5, "of another")]


def test_a_report_that_takes_the_place_of_another_takes_its_marks(catalog: Catalog) -> None:
    catalog.marks.change(ONE, [Mark(5, "five"), Mark(6, "six")])
    catalog.marks.change(TWO, [Mark(6, "its own")])
    catalog.hand_over(ONE, TWO)
    catalog.remove_report(ONE)
    assert catalog.marks.get(TWO) == [Mark(5, "five"), Mark(6, "its own")]


def test_there_is_a_number_of_them(catalog: Catalog) -> None:
    catalog.marks.change(ONE, [Mark(t, "x") for t in range(MOST)])
    with pytest.raises(AnalysisError, match=f"at most {MOST} marks"):
        catalog.marks.change(ONE, [Mark(5, "changed"), Mark(MOST + 1, "one more")])
    assert catalog.marks.get(ONE) == [Mark(t, "x") for t in range(MOST)], "none of both is written"
    catalog.marks.change(ONE, [Mark(5, ""), Mark(MOST + 1, "in its place")])
    assert len(catalog.marks.get(ONE)) == MOST


def test_they_outlive_a_damaged_catalog(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / FILE)
    catalog.marks.change(ONE, [Mark(5, "five")])
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("DROP TABLE job")
    db.close()
    assert catalog_repair.is_damaged(tmp_path / FILE)
    catalog.mend()
    assert catalog.marks.get(ONE) == [Mark(5, "five")]


def test_a_catalog_of_before_gets_the_table(tmp_path: Path) -> None:
    Catalog(tmp_path / FILE)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("DROP TABLE mark")
    db.close()
    assert Catalog(tmp_path / FILE).marks.get(ONE) == []


@pytest.mark.parametrize(
    "told",
    [
        None, 5, "x", {}, {"t": 5, "note": "x"}, [None, 5, [], "x"], [{"t": "5", "note": "x"}], [{"t": 5}],
        [{"note": "x"}], [{"t": 5, "note": None}], [{"t": True, "note": "x"}], [{"t": 1 << 62, "note": "x"}],
        [{"t": float("nan"), "note": "x"}], [{"t": float("inf"), "note": "x"}], [{"t": -1e300, "note": "x"}],
        [{"t": 5, "note": ["x"]}],
    ],
)  # fmt: skip
def test_what_is_no_mark_is_left_out(told: Any) -> None:
    assert marks.parse_marks(told) == []


def test_notes_are_words_of_a_line(catalog: Catalog) -> None:
    hostile = "<script>\n'; DROP TABLE mark; --\u202e\x00 a\tb" + "y" * 100_000
    found = marks.parse_marks([{"t": 5.4, "note": hostile}, {"t": 6, "note": " \n "}] + [{"t": 7, "note": "z"}] * 1_000)
    assert found[0].t_ns == 5
    assert found[0].note.startswith("<script> '; DROP TABLE mark; -- a b")
    assert len(found[0].note) <= LONGEST
    assert found[1] == Mark(6, "")
    assert len(found) == MOST
    catalog.marks.change(ONE, found[:2])
    assert catalog.marks.get(ONE) == found[:1]
    assert json.loads(json.dumps(found[0].note)) == found[0].note
