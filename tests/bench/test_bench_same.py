"""The comparison of two libraries finds every difference, and no other."""

from pathlib import Path

import pytest

from bench import same
from profiledb.report import store
from tests.support import page_reports


def library(folder: Path, *statements: str) -> Path:
    """A library of one report, filled by statements."""
    (folder / "reports").mkdir(parents=True)
    with store.create(folder / "reports" / "a.v1.duckdb", ready=page_reports.empty()) as db:
        for statement in statements:
            db.execute(statement)
    return folder


STRINGS = "INSERT INTO string VALUES (1, 'a'), (2, 'b'), (2, 'b')"


def test_the_order_of_rows_is_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = library(tmp_path / "one", STRINGS)
    other = library(tmp_path / "other", "INSERT INTO string VALUES (2, 'b'), (1, 'a'), (2, 'b')")
    assert same.main([str(one), str(other)]) == 0
    assert capsys.readouterr().out == "1 reports compared, 0 differences\n"


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["INSERT INTO string VALUES (1, 'a'), (2, 'b')"], "string has 1 rows that the other one lacks, and lacks 0"),
        (["INSERT INTO string VALUES (1, 'a'), (2, 'c'), (2, 'b')"], "and lacks 1"),
        ([STRINGS, "CREATE SCHEMA raw", "CREATE TABLE raw.x (a INTEGER)"], "the table raw.x is in one report only"),
        ([STRINGS, "ALTER TABLE gpu_metric ADD COLUMN a DOUBLE"], "gpu_metric has other columns"),
    ],
)
def test_a_difference_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], statements: list[str], words: str
) -> None:
    assert same.main([str(library(tmp_path / "one", STRINGS)), str(library(tmp_path / "other", *statements))]) == 1
    assert words in capsys.readouterr().out
