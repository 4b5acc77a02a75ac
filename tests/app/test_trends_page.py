"""The page "Trends": all series, one series, people's notes on changes, moving reports, and no series at all."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.views.trends import heat
from bench.runs import Late
from profiledb.library.library import Library
from profiledb.studies import run_lookup
from profiledb.studies.trends.series_board import Board
from tests.app.conftest import Dashboard, plain_texts
from tests.profiledb.studies.runs.test_run_gate import put_run
from tests.profiledb.studies.trends.test_series import SERIES, SLOW, filled
from tests.support import series_summaries
from tests.support.made_ranks import MS


@pytest.fixture
def series(empty: Path) -> Library:
    return filled(Library(empty / "library"))


def open_(dashboard: Dashboard, **query: str) -> AppTest:
    at = dashboard("trends", **query)
    assert not at.exception
    assert "Something went wrong" not in plain_texts(at)
    return at


def test_without_any_series_it_says_so(dashboard: Dashboard, empty: Path) -> None:
    at = open_(dashboard)
    assert [one.value for one in at.header] == ["Trends"]
    assert "No series yet" in plain_texts(at)


def test_all_series_are_listed_with_their_newest_change(dashboard: Dashboard, series: Library) -> None:
    series_summaries.put(
        series, series_summaries.facts(90, gpu="<b>GPU</b>\x1b"), series_summaries.rows(1e6, {"k": 1e5})
    )
    at = open_(dashboard)
    rows = at.dataframe[0].value
    assert list(rows["series"]) == ["NVIDIA H200", "<b>GPU</b> "], "what both have stands above"
    assert "All of these: train · nsys" in plain_texts(at)
    assert (rows["kind"][0], rows["state"][0], rows["reports"][0]) == ("Worse", "Open", 40)
    assert rows["change"][0].startswith("+1")
    assert len(rows["spark"][0]) == 40
    assert rows["spark"][1] is None, "one report has no shape"
    assert rows["kind"][1] == "Below 8 reports"
    assert "No series matches" in plain_texts(open_(dashboard, q="nothing"))
    assert "There is no series" in plain_texts(open_(dashboard, series="<script>"))


def test_runs_are_listed_with_what_became_worse(dashboard: Dashboard, empty: Path) -> None:
    library = Library(empty / "library")
    for number in range(1, 6):
        put_run(library, number)
    put_run(library, 6, Late(2, 0, "idle", 2 * MS))
    assert "Runs on several GPUs" not in [one.value for one in open_(dashboard).subheader], "not worked out yet"
    run_lookup.list_lines(library, work_out=True)
    rows = open_(dashboard).dataframe[-1].value.to_dict("records")
    (row,) = [one for one in rows if "ranks" in one["series"]]
    assert (row["series"], row["measure"], row["kind"]) == ("train · 4 ranks · H100", "Step time", "Worse")
    assert (row["straggler"], row["runs"], len(row["spark"])) == (2, 6, 6)
    assert row["change"].startswith("+")


def test_one_series_says_what_accounts_for_its_change(dashboard: Dashboard, series: Library) -> None:
    key = Board(series).find(SERIES).key
    at = open_(dashboard, series=key)
    text = plain_texts(at)
    assert f"First report: train_{SLOW}.nsys-rep" in text
    assert "95 % interval" in text
    work, kernels = (one.value for one in at.dataframe[:2])
    for table in (work, kernels):
        assert table["change"][1:].sum() == pytest.approx(table["change"][0])
    assert kernels["title"][1] == "softmax"
    assert "Kernels by report" in text
    with_axis = open_(dashboard, series=key, measure="launches", axis="date")
    assert "No change found" in plain_texts(with_axis)


def test_a_change_is_accepted_with_a_note_and_opened_again(dashboard: Dashboard, series: Library) -> None:
    at = open_(dashboard, series=Board(series).find(SERIES).key)
    box = next(one for one in at.text_input if str(one.key).startswith("trends-note"))
    box.set_value("slower *on purpose*")
    at = next(one for one in at.button if one.label == "Accept").click().run()
    assert not at.exception
    (note,) = series.catalog.decisions.notes().values()
    assert (note.state, note.note) == ("accepted", "slower *on purpose*")
    assert "Accepted" in plain_texts(at)
    assert "on purpose" in plain_texts(at)
    at = next(one for one in at.button if one.label == "Reopen").click().run()
    assert [one.state for one in series.catalog.decisions.notes().values()] == ["open"]


def test_a_report_is_moved_and_left_out(dashboard: Dashboard, series: Library) -> None:
    at = open_(dashboard, series=Board(series).find(SERIES).key)
    at.multiselect(key="trends-moved").set_value([f"{1:016x}"])
    at.selectbox(key="trends-to").set_value("– in no series –")
    at = next(one for one in at.button if one.label == "Move").click().run()
    assert not at.exception
    assert series.catalog.decisions.choices() == {f"{1:016x}": ""}
    assert "39 reports" in plain_texts(at)


def test_the_heat_map_has_what_takes_most_in_any_report() -> None:
    every = [series_summaries.rows(9e6, {"a": 3e6, "b": 1e6}), series_summaries.rows(9e6, {"a": 1e6, "c": 2e6})]
    kernels = [[row for row in rows if row.measure == "kernel"] for rows in every]
    assert heat.build_grid(kernels) == (["a", "c", "b"], [[3e6, 1e6], [None, 2e6], [1e6, None]])
