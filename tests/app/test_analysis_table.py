"""Sections that are the table of an analysis: the same for every page."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from profiledb.library.library import Library
from profiledb.query import header
from tests.support.memory_reports import fill
from tests.support.page_reports import Publish, kernel, make_library

__all__ = ["make_library"]  # fixture

Draw = Callable[..., AppTest]


def script(report_id: str, asked: "dict[str, Any]", declared: "dict[str, Any]") -> None:
    """Draw the table as a page does."""
    from app.ui.analysis_table import AnalysisTable

    AnalysisTable("kernels", **declared).draw(report_id, **asked)


@pytest.fixture
def draw(library: Library, publish: Publish, monkeypatch: pytest.MonkeyPatch) -> Draw:
    monkeypatch.setenv("WARPDECK_LIBRARY", str(library.folder))
    launches = [(1, 0, 30), (1, 40, 60), (2, 100, 110)]
    report = publish(
        lambda db: fill(
            db, kernel=[kernel(number, *launch, registers_per_thread=None) for number, launch in enumerate(launches)]
        )
    )  # fmt: skip

    def draw_(asked: dict[str, Any] | None = None, **declared: Any) -> AppTest:
        at = AppTest.from_function(script, args=(report, asked or {}, declared), default_timeout=60).run()
        assert not at.exception
        return at

    return draw_


def test_the_table_is_that_of_the_header(draw: Draw) -> None:
    at = draw(title="Kernels", empty="Nothing.", hidden=("demangled",))
    assert [one.value for one in at.subheader] == ["Kernels"]
    shown = at.dataframe[0].value
    assert list(shown.columns) == [one.column for one in header.get("kernels").show]
    assert list(shown["name"]) == ["gemm", "relu"]
    assert not [one for one in at.caption if one.value == "Nothing."]


def test_sentences_come_from_the_rows(draw: Draw) -> None:
    at = draw(lead="**Above.**", caption="quiet above", note="below")
    assert [one.value for one in at.markdown] == ["**Above.**"]
    assert [one.value for one in at.caption] == ["quiet above", "2 rows", "below"]


def test_a_selection_without_rows_says_so(draw: Draw) -> None:
    asked = {"search": "no kernel is called so"}
    at = draw(asked, title="Kernels", empty="No kernel here.")
    assert [one.value for one in at.subheader] == ["Kernels"]
    assert [one.value for one in at.caption] == ["No kernel here."]
    assert not at.dataframe
    nothing = draw(asked, title="Kernels")
    assert not nothing.subheader
    assert not nothing.dataframe


def test_the_first_rows_and_columns_with_values(draw: Draw) -> None:
    at = draw(top=1, filled=True)
    shown = at.dataframe[0].value
    assert list(shown["name"]) == ["gemm"]
    whole = [one.column for one in header.get("kernels").show]
    assert list(shown.columns) == [name for name in whole if name != "registers"]
    assert "2 rows" not in [one.value for one in at.caption]
