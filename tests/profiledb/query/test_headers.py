"""The headers of analyses and of view files, against their SQL."""

import re
from collections.abc import Iterator

import duckdb
import pytest

from profiledb.errors import AnalysisError
from profiledb.query import header, views
from profiledb.query.header import SELECTS, Analysis
from profiledb.query.views import Views
from profiledb.report import schema
from tests.support.every_report import slow_but

ANALYSES = header.list_analyses().values()
FILES = views.list_files().values()
MOST_VIEWS = sorted(ANALYSES, key=lambda one: len(one.includes))[-6:]
DEEPEST = sorted(FILES, key=lambda one: len(one.includes))[-5:]
"""Analyses and files of views that build on most others."""
_MADE = re.compile(r"CREATE OR REPLACE (?:VIEW|MACRO) (\w+)")


def named(one: Analysis | Views) -> str:
    return one.name


def words(sql: str) -> set[str]:
    """Every word of the statements; comments are none."""
    return set(re.findall(r"\w+", re.sub(r"--.*", "", sql)))


def made_by(name: str) -> set[str]:
    return set(_MADE.findall(views.list_files()[name].sql))


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    """A connection with the tables of a report."""
    db = duckdb.connect()
    db.execute("CREATE SCHEMA report; USE report")
    schema.create(db)
    db.execute("SET search_path = 'main,report'")  # views stand beside the tables, and one in place of a missing table
    db.execute('ALTER TABLE gpu_metric ADD COLUMN "SM Active" SMALLINT')  # a column each that was captured
    return db


@pytest.fixture
def empty(tables: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same without views: those that a test makes are taken back after it."""
    tables.execute("BEGIN")
    yield tables
    tables.execute("ROLLBACK")


@pytest.mark.parametrize("analysis", slow_but(MOST_VIEWS, ANALYSES, "makes the views of each analysis anew"), ids=named)
def test_an_analysis_needs_no_views_but_those_that_it_includes(
    empty: duckdb.DuckDBPyConnection, analysis: Analysis
) -> None:
    empty.execute(views.build_sql(analysis.includes) or "SELECT 1")
    for param in analysis.params:
        assert f"${param.name}" in analysis.sql or analysis.joins
    for sql in analysis.queries:
        values = {k: v for k, v in header.bind(analysis, {}).items() if f"${k}" in sql}
        described = empty.execute(sql, values or None).description
        assert [column[0] for column in described or ()] == [column.name for column in analysis.columns]
    for table in (table for need in analysis.needs for table in need):
        empty.execute(f"SELECT 1 FROM {table}")


def test_an_analysis_includes_nothing_that_it_does_not_name() -> None:
    for analysis in ANALYSES:
        used = words(analysis.sql) | {table for need in analysis.needs for table in need}
        assert [name for name in analysis.includes if not used & made_by(name)] == [], analysis.name
        assert len(set(analysis.includes)) == len(analysis.includes), analysis.name


@pytest.mark.parametrize("file", slow_but(DEEPEST, FILES, "makes the views of each file anew"), ids=named)
def test_a_file_of_views_names_what_it_builds_on(empty: duckdb.DuckDBPyConnection, file: Views) -> None:
    empty.execute(views.build_sql([file.name]))
    assert [name for name in file.includes if not words(file.sql) & made_by(name)] == []


def test_no_two_files_make_the_same() -> None:
    made = [name for file in FILES for name in made_by(file.name)]
    assert len(set(made)) == len(made)


def test_what_an_analysis_selects_is_what_its_views_depend_on() -> None:
    for analysis in ANALYSES:
        used = words(analysis.sql)
        depends = {
            "part": any(word.startswith("selected_") for word in used),
            "mode": bool(used & {"selected_mode", "range_by_mode"}),
            "phases": any(word.startswith("selected_phase") for word in used),
        }
        assert analysis.selects == tuple(name for name in SELECTS if depends[name]), analysis.name
        needed = {one.name for one in views.list_needed(analysis.includes)}
        assert not analysis.by_phases or "phase" in needed, analysis.name


def test_a_file_comes_after_those_that_it_builds_on() -> None:
    order = [one.name for one in views.list_all()]
    assert sorted(order) == sorted(views.list_files())
    assert all(order.index(name) < order.index(one.name) for one in FILES for name in one.includes)


def test_unknown_views_are_said() -> None:
    with pytest.raises(AnalysisError, match="No views are called 'nothing'"):
        views.list_needed(["nothing"])


@pytest.mark.parametrize(
    ("line", "name", "heading"),
    [
        ("avg_ns = Average | ns | .1f | mean", "avg_ns", "Average"),
        ("busy_ns | ns | | time", "busy_ns", "Busy"),
        ("share_change_points | points | | less", "share_change_points", "Share change points"),
        ("over_cpu_pct = of CPU | % | | that", "over_cpu_pct", "of CPU"),
        ("Avg (ns) | ns | .1f | mean", "Avg (ns)", "Avg (ns)"),
    ],
)
def test_a_column_has_a_heading(line: str, name: str, heading: str) -> None:
    (column,) = header.parse("one", f"-- title: One\n-- column: {line}\nSELECT 1").columns
    assert (column.name, column.title) == (name, heading)
    assert column.unit
    assert column.help


def test_columns_say_what_they_mean() -> None:
    for analysis in ANALYSES:
        for column in analysis.columns:
            assert column.unit, (analysis.name, column.name)
            assert column.help, (analysis.name, column.name)
            assert column.help.lower() != column.title.lower(), (analysis.name, column.name, "it says nothing")


def test_what_pages_ask_first_can_be_asked() -> None:
    for analysis in ANALYSES:
        for asked in analysis.prefetch:
            assert set(dict(asked.params)) <= analysis.takes, analysis.name
            own = {name: value for name, value in asked.params if name in {param.name for param in analysis.params}}
            assert own.items() <= header.bind(analysis, own).items(), analysis.name
        assert len(set(analysis.prefetch)) == len(analysis.prefetch), analysis.name


def test_prefetch_lines_say_part_and_parameters() -> None:
    text = "-- title: Made\n-- prefetch: part\n-- prefetch: steady limit=12 phase=forward,backward\nSELECT 1\n"
    made = header.parse("made", text)
    assert [(one.part, one.params) for one in made.prefetch] == [
        ("part", ()),
        ("steady", (("limit", 12), ("phase", "forward,backward"))),
    ]
    assert made.limit == 12
    assert not header.parse("plain", "-- title: Plain\nSELECT 1\n").limit


@pytest.mark.parametrize(
    ("line", "said"),
    [("prefetch: some limit=1", "names no part"), ("show: name wide", "cannot be read"), ("show: a b c", "cannot be")],
)
def test_lines_that_cannot_be_read(line: str, said: str) -> None:
    with pytest.raises(AnalysisError, match=said):
        header.parse("made", f"-- title: Made\n-- {line}\nSELECT 1\n")
