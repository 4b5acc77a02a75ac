"""Cheap reruns: table cells skip pandas' layout, and figures are built once."""

import gc
import logging
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.elements.lib.pandas_styler_utils import marshall_styler
from streamlit.proto.ArrowData_pb2 import ArrowData

from app.ui import cell_text, charts, figure_cache, table_columns, tables
from app.ui import format as fmt
from profiledb.query.single_flight_cache import SingleFlightCache

CELLS = pd.DataFrame(
    {
        "name": ["a", None, "<b>ü</b>"],
        "ns": pd.array([1_044_717_600, None, 12], dtype="Int64"),
        "share": [0.1, float("nan"), 1e9],
        "count": [1, 2, 3],
        "odd": pd.array([0.5, None, 2.0], dtype="Float64"),
        "kind": [["x"], [], ["y", "z"]],
        "on": pd.array([True, None, False], dtype="boolean"),
        "when": pd.to_datetime(["2026-01-02", "", "2026-01-03"], utc=True),
    }
)


def sent(styler: Any) -> ArrowData:
    proto = ArrowData()
    marshall_styler(proto, styler, "id")
    return proto


@pytest.mark.parametrize("words", [{}, {"ns": fmt.duration, "share": fmt.percent}], ids=["plain", "words"])
@pytest.mark.parametrize("rows", [3, 0])
def test_the_words_are_those_of_pandas(words: dict[str, Any], rows: int) -> None:
    cells = CELLS.head(rows)
    ours = cell_text.make_styler(cells, words)
    theirs = cells.style.format(words).set_uuid(sent(ours).styler.uuid)
    assert sent(ours) == sent(theirs)
    assert sent(cell_text.make_styler(cells, words)) == sent(ours), "the browser has it"
    assert ours.data.equals(cells)
    assert ours.data["count"].astype(str).tolist() == [str(n) for n in cells["count"]]


def test_a_figure_is_built_once_from_equal_values() -> None:
    built: list[int] = []

    @figure_cache.cache_figure
    def build(rows: pd.DataFrame, theme: str) -> go.Figure:
        built.append(len(rows))
        return go.Figure(go.Scatter(x=rows["count"].tolist(), name=theme))

    rows = CELLS[["count", "share"]]
    first = build(rows, "light")
    assert build(rows.copy(deep=True), "light") is first
    assert built == [3]
    assert build(rows, "dark").data[0].name == "dark"
    assert build(rows.assign(count=[1, 2, 4]), "light").data[0].x == (1, 2, 4)
    assert built == [3, 3, 3]


def test_a_table_is_built_once_from_equal_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_FIGURES", SingleFlightCache())
    columns = [table_columns.Col("name", "Name"), table_columns.Col("ns", "Time", kind="duration")]
    shown, config, whole = tables._read_parts(CELLS, columns)
    assert len(figure_cache._FIGURES) == 1
    other = CELLS.assign(share=0.5).copy(deep=True)  # a column that the table does not have
    assert sent(tables._read_parts(other, columns)[0]) == sent(shown)
    assert len(figure_cache._FIGURES) == 1
    assert sent(shown) == sent(tables.build_arguments(CELLS, columns, cell_text.make_styler)[0])
    assert config["ns"]["label"] == "Time"
    assert whole == {}
    changed = tables._read_parts(CELLS.assign(ns=[1, 2, 3]), columns)[0]
    assert sent(changed) != sent(shown)
    assert sent(tables._read_parts(CELLS, columns[:1])[0]) != sent(shown)
    assert len(figure_cache._FIGURES) == 3


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """Answer the bytes that Python holds; without the log, whose warnings of Streamlit pytest would hold."""
    logging.disable()
    tracemalloc.start()

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    yield held
    tracemalloc.stop()
    logging.disable(logging.NOTSET)


def draw_figure(number: int) -> None:
    charts.share_bar([charts.Part(f"part {one}", 20.0, "", "#112233") for one in range(number, number + 5)], "light")


def draw_table(number: int) -> None:
    cells = pickle.loads(pickle.dumps(CELLS)).assign(count=number)
    tables._read_parts(cells, [table_columns.Col(name, name) for name in cells.columns])


@pytest.mark.parametrize("draw", [draw_figure, draw_table])
def test_what_is_kept_is_counted_by_what_it_takes(
    draw: Callable[[int], None], traced: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(0)  # what Plotly and pandas make when they are used for the first time
    monkeypatch.setattr(figure_cache, "_FIGURES", SingleFlightCache())
    before = traced()
    for number in range(1, 41):
        draw(number)
    taken = traced() - before
    assert 0.7 * taken < figure_cache.count_bytes() < 1.4 * taken


def test_a_long_table_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_FIGURES", SingleFlightCache())
    rows = pd.DataFrame({"ns": range(tables.MOST_WRITTEN + 1)})
    tables._read_parts(rows, [table_columns.Col("ns", "Time", kind="duration")])
    assert not figure_cache._FIGURES


def test_what_is_kept_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_FIGURES", SingleFlightCache(200_000))
    for number in range(40):
        charts.share_bar([charts.Part(f"part {number}", 100.0, "", "#112233")], "light")
    assert 1 < len(figure_cache._FIGURES) <= 5
    assert figure_cache.count_bytes() <= 200_000
