"""Columns of tables: those that pages choose, and the descriptions in the headers of analyses."""

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from app import page_list
from app.ui import table_columns, theme
from app.ui.analysis_table import AnalysisTable
from profiledb.query import header
from profiledb.query.header import Column

APP = Path(table_columns.__file__).parents[1]
PLAIN = Column("total_ns", "ns", "", "sum of durations")


def called(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls of these functions of ``table_columns``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="table_columns"), attr=name)) if name in names:
                yield node


def first(call: ast.Call) -> str | None:
    """The first argument, where it is written out."""
    found = call.args[0] if call.args else None
    return found.value if isinstance(found, ast.Constant) and isinstance(found.value, str) else None


def tables() -> Iterator[tuple[str, str, ast.Call]]:
    """Every table of an analysis: the file, the analysis, the call."""
    for file in sorted(APP.rglob("*.py")):
        for call in called(ast.parse(file.read_text(encoding="utf-8")), "choose_columns"):
            if name := first(call):
                yield file.name, name, call


def test_pages_name_columns_that_their_analysis_has() -> None:
    found = list(tables())
    assert len(found) > 15
    for file, name, call in found:
        known = {column.name for column in header.get(name).columns}
        named = [arg.value for arg in call.args[1:] if isinstance(arg, ast.Constant)]
        named += [first(one) for one in called(call, "use", "make_bar") if first(one)]
        assert not set(named) - known, (file, name)


def test_no_page_says_again_what_the_header_says() -> None:
    for file, name, call in tables():
        known = {column.name: column for column in header.get(name).columns}
        for one in called(call, "use", "make_bar"):
            column = known.get(first(one) or "")
            said = {word.arg: word.value.value for word in one.keywords if isinstance(word.value, ast.Constant)}
            if column is not None:
                assert said.get("label") != column.title, (file, name, column.name)
                assert str(said.get("help", "")).lower() != column.help.lower(), (file, name, column.name)
        helps = {column.help.lower() for column in known.values()}
        for one in called(call, "Col"):
            said = {word.arg: word.value.value for word in one.keywords if isinstance(word.value, ast.Constant)}
            assert str(said.get("help", "")).lower() not in helps - {""}, (file, name, first(one))


def test_the_header_says_which_columns_a_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """-- title: Made
-- show: name 300, total_ns
-- show: share_pct bar 110
-- column: name | text | | what it is called
-- column: share_pct | % | .1f | share
-- column: total_ns | ns | | sum of durations
SELECT 1
"""
    made = header.parse("made", text)
    monkeypatch.setattr(header, "get", lambda _: made)
    assert table_columns.list_shown("made") == table_columns.choose_columns(
        made.columns, table_columns.use("name", width=300), "total_ns", table_columns.make_bar("share_pct", width=110)
    )
    changed = table_columns.list_shown("made", {"name": {"label": "Kernel", "click": "opens it"}})
    assert changed[0] == table_columns.Col(
        "name", "Kernel", "", "What it is called; a click opens it", "text", 300, True
    )
    assert changed[1:] == table_columns.list_shown("made")[1:]


def test_what_a_header_shows_is_the_table_of_its_page() -> None:
    """No header lists columns without a table, and no table lacks its header."""
    found = {name: one for name, one in header.list_analyses().items() if one.show}
    assert len(found) > 30
    for name, one in found.items():
        known = [column.name for column in one.columns]
        named = [shown.column for shown in one.show]
        assert len(set(named)) == len(named), name
        assert set(named) <= set(known), name
        folder = page_list.get_script(one.page).parent
        assert any(f'"{name}"' in file.read_text(encoding="utf-8") for file in folder.glob("*.py")), name
    for file in sorted(APP.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="AnalysisTable"), keywords=words) if asked := first(node):
                    own = any(word.arg == "columns" for word in words)
                    assert own or header.get(asked).show, (file.name, asked)


def test_a_page_may_say_some_things_itself() -> None:
    (col,) = table_columns.choose_columns(
        [PLAIN], table_columns.use("total_ns", name="a_ns", label="Total of A", width=90)
    )
    assert col == table_columns.Col("a_ns", "Total of A", "", "Sum of durations", "duration", 90)
    (col,) = table_columns.choose_columns([PLAIN], table_columns.use("total_ns", click="opens it"))
    assert col.help == "Sum of durations; a click opens it"


def test_a_column_of_the_page_stays_as_it_is() -> None:
    own = table_columns.Col("ratio", "Ratio", "×", kind="number")
    assert table_columns.choose_columns([PLAIN], own, "total_ns") == (
        own,
        table_columns.Col("total_ns", "Total", "", "Sum of durations", "duration"),
    )


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="total"):
        table_columns.choose_columns([PLAIN], "total")


@pytest.mark.parametrize(
    ("unit", "form", "shown"),
    [
        ("ns", ".1f", ("duration", "")),
        ("%", ".2f", ("percent", "")),
        ("count", "", ("count", "")),
        ("count", ".2f", ("number", "")),
        ("id", "", ("count", "")),
        ("class", "", ("class", "")),
        ("W", ".1f", ("number", "W")),
        ("ratio", ".3f", ("number", "×")),
        ("number", "", ("number", "")),
    ],
)
def test_the_unit_says_how_a_column_is_shown(unit: str, form: str, shown: tuple[str, str]) -> None:
    assert table_columns.choose_kind(Column("x", unit, form, "")) == shown


def test_when_something_was_is_not_how_long_it_took() -> None:
    assert table_columns.choose_kind(Column("since_start_ns", "ns", "", "")) == ("moment", "")
    assert table_columns.choose_kind(Column("startup_ns", "ns", "", "")) == ("duration", "")


def test_columns_without_any_value_are_left_out() -> None:
    frame = pd.DataFrame({"a": [None, 1], "b": [None, None]})
    assert [
        column.name for column in table_columns.select_filled(frame, [table_columns.Col(name, name) for name in "abc"])
    ] == ["a"]


def parts() -> Iterator[ModuleType]:
    """The modules of all pages but the scripts that Streamlit runs, which draw as they are imported."""
    scripts = {page_list.LIBRARY, *(view.path for view in page_list.VIEWS)}
    for file in sorted(set(page_list.FOLDER.glob("*/*.py")) - scripts):
        yield importlib.import_module(".".join(file.relative_to(APP.parent).with_suffix("").parts))


def drawn() -> list[tuple[str, tuple[table_columns.Col, ...]]]:
    """The columns of every table that stands in these, with where they are written."""
    found = []
    for module in parts():
        for name, value in vars(module).items():
            columns = value.shown if isinstance(value, AnalysisTable) else value
            if isinstance(columns, tuple) and columns and all(isinstance(one, table_columns.Col) for one in columns):
                found.append((f"{module.__name__}.{name}", columns))
    return found


def test_no_table_has_two_columns_under_one_heading() -> None:
    """Units distinguish them if the heading shows the unit."""
    for where, columns in drawn():
        shown = Counter((one.label, "%" if one.kind in ("percent", "bar") else one.unit) for one in columns)
        assert max(shown.values()) == 1, (where, shown.most_common(2))
    assert len(drawn()) > 30


def test_every_class_of_kernels_fits_its_column() -> None:
    longest = max(len(title) for title in theme.get_class_titles().values())
    widths = [(one.width, where) for where, columns in drawn() for one in columns if one.kind == "class" and one.width]
    assert len(widths) > 5
    for width, where in widths:
        assert isinstance(width, int), where
        assert width >= 7.06 * longest + 28, where  # the ends of what is drawn around it and the edges of the cell
