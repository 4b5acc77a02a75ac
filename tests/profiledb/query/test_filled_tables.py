"""Empty tables are known before a statement is planned, and views of shared rows tell whether they have rows."""

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from profiledb.errors import PreparingError
from profiledb.findings import rulebook
from profiledb.library.library import Library
from profiledb.query import header, shared_rows
from profiledb.report import schema
from profiledb.selection.model import Selection
from tests.support.every_report import slow_but
from tests.support.previews import publish_both

TRAINING = "transformer_training.nsys-rep"
FILES = shared_rows.list_files()
TELLING = [(file, view) for file, one in FILES.items() for view in one.tells]


def list_texts() -> Iterator[tuple[Path, str]]:
    with resources.as_file(resources.files("profiledb")) as folder:
        for file in (*folder.rglob("*.sql"), folder / "selection" / "views.py"):
            yield file, file.read_text(encoding="utf-8")


def test_only_tables_of_the_report_itself_are_asked_for() -> None:
    """On a cursor that knows them, any other name would count as empty."""
    asked = {(file.name, name) for file, text in list_texts() for name in re.findall(r"has_rows\('(\w+)'\)", text)}
    assert len(asked) > 20
    tables = {name for name in schema.read_tables() if not name.startswith("ncu_")}
    assert {one for one in asked if one[1] not in tables} == set()


def test_a_cursor_knows_which_tables_have_rows(nsys_samples: Library) -> None:
    report = nsys_samples.find(TRAINING)
    with shared_rows.opened(nsys_samples, report.id, Selection(), ("selection",)) as part:
        told = {
            table: part.cursor.execute(f"SELECT has_rows('{table}')").fetchone() == (True,)
            for table in schema.read_tables()
        }
        asked = "EXPLAIN SELECT start_ns FROM kernel WHERE start_ns IN (SELECT start_ns FROM mpi_call)"
        plans = [str(part.cursor.execute(asked + more).fetchall()) for more in ("", " AND has_rows('mpi_call')")]
    assert {table for table, has in told.items() if has} == set(report.rows)
    assert ["SEQ_SCAN" in plan for plan in plans] == [True, False]
    nsys_samples._attached.close(report.id)


@pytest.mark.slow("makes another preview and its report")
def test_of_a_preview_nothing_is_taken_for_empty(tmp_path: Path) -> None:
    early, _ = publish_both(tmp_path)
    report_id = early.list()[0].id
    with shared_rows.opened(early, report_id, Selection(), ("selection",)) as part:
        assert part.cursor.execute("SELECT has_rows('kernel'), has_rows('graph_launch')").fetchone() == (True, False)
    with pytest.raises(PreparingError), shared_rows.opened(early, report_id, Selection(), ("selection",)) as part:
        part.cursor.execute("SELECT has_rows('range')").fetchone()


@pytest.mark.parametrize(("file", "view"), TELLING)
@pytest.mark.parametrize("name", slow_but([TRAINING], [TRAINING, "kernels.nsys-rep"], "another report"))
def test_views_of_shared_rows_tell_whether_they_have_some(
    nsys_samples: Library, name: str, file: str, view: str
) -> None:
    every = [*header.list_analyses().values(), *(rule.analysis for rule in rulebook.load().values())]
    asked = next(one for one in every if file in one.once or any(file in FILES[other].once for other in one.once))
    report_id = nsys_samples.find(name).id
    with shared_rows.opened(nsys_samples, report_id, Selection(), asked.includes) as part:
        part.prepare(asked)
        (told, has, plan) = (
            part.cursor.execute(sql).fetchall()
            for sql in (f"SELECT has_{view}()", f"SELECT EXISTS (FROM {view})", f"EXPLAIN SELECT has_{view}()")
        )
    assert told == has
    assert view not in str(plan), "it is a constant"
    nsys_samples._attached.close(report_id)
